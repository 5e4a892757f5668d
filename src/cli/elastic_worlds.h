// The numbers of ranks, and the layouts, with which a training command can run after a loss, for `megalith launch`.
#pragma once
#include <string>
#include <vector>

#include "launch/controller.h"

namespace megalith {

// Other commands can have any number. `layouts`: --elastic-layouts; empty: only the data-parallel size changes. Error
// if the command does not fix what all numbers of ranks must share. Error if a layout is not one of this command.
launch::Worlds elastic_worlds(const std::vector<std::string>& command, const std::string& layouts = {});

}  // namespace megalith
