// Logs the phases of a start with --log-level debug. They show where a restart after a fault spends its time.
#pragma once
#include "goodput/ledger.h"
#include "settings/options.h"

namespace megalith {

// Also logs the time since the start began. `began`: 0: the start of the process.
void say_age(const Options& options, const char* what, double began = 0);
Ledger::Clock start_clock(double began);

}  // namespace megalith
