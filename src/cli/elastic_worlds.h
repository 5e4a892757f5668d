// The numbers of ranks with which a training command can run after a loss, for `megalith launch`.
#pragma once
#include <string>
#include <vector>

#include "launch/controller.h"

namespace megalith {

// Other commands can have any number. Error if the command does not fix what all numbers of ranks must share.
launch::Worlds elastic_worlds(const std::vector<std::string>& command);

}  // namespace megalith
