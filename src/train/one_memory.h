// Warnings about flags that free a device's memory, where the host's is the only one.
#pragma once
#include "plan/interpreter.h"
#include "settings/options.h"

namespace megalith {

void warn_of_one_memory(const Options& options, const Backend& backend);

}  // namespace megalith
