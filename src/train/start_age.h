// How far a start has come, with --log-level debug: what a start after a fault spends its seconds on.
#pragma once
#include "goodput/ledger.h"
#include "settings/options.h"

namespace megalith {

// And how long ago the start began: with the process, or, where `began` is not 0, then.
void say_age(const Options& options, const char* what, double began = 0);
Ledger::Clock start_clock(double began);

}  // namespace megalith
