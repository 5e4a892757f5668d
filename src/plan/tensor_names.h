// Readable names of instructions' results: "layers.1.mlp.einsum.0" is the first result of an einsum of layer 1's MLP in
// the forward. "backward.layers.1.mlp.einsum.2" is the third one in the backward.
#pragma once
#include <string>
#include <vector>

#include "plan/plan.h"

namespace megalith {

// One name for each instruction; all names differ.
std::vector<std::string> tensor_names(const Program& program);

// The parameter that the instruction reads, or to whose gradient it adds; "" if there is none.
std::string parameter_of(const Plan& plan, const Program& program, const Instruction& in);

}  // namespace megalith
