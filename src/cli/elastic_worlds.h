// How many ranks a training command can have where some are lost: `megalith launch` asks.
#pragma once
#include <string>
#include <vector>

#include "launch/controller.h"

namespace megalith {

// Of a program of another kind any number. Error if the command leaves open what all numbers of ranks must share.
launch::Worlds elastic_worlds(const std::vector<std::string>& command);

}  // namespace megalith
