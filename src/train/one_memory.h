// Warnings about flags that move data from the device's memory to the host's. They are for devices that have only the
// host's memory.
#pragma once
#include "plan/interpreter.h"
#include "settings/options.h"

namespace megalith {

void warn_of_one_memory(const Options& options, const Backend& backend);

}  // namespace megalith
