// Xavier's uniform initial weights (Glorot and Bengio 2010), as --init-method-xavier-uniform draws them.
#pragma once
#include <optional>
#include <string>

#include "models/config.h"

namespace megalith {

// The deviation of a weight's initial values, sqrt(2 / (rows + columns)) of the matrix that Megatron draws at once;
// none if they are normal. `name`: of the parameter.
std::optional<double> xavier_std(const std::string& name, const ModelConfig& config);

}  // namespace megalith
