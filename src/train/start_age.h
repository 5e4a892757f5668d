// How far a start has come, with --log-level debug: what a start after a fault spends its seconds on.
#pragma once
#include "settings/options.h"

namespace megalith {

void say_age(const Options& options, const char* what);  // and how old the process is

}  // namespace megalith
