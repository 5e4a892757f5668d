// Turns a forward graph into what a micro-batch runs: the backward, and one accumulator for each parameter's gradient,
// the loss and the tokens.
#pragma once
#include <string>
#include <vector>

#include "graph/builder.h"
#include "models/parameter.h"

namespace megalith {

struct Accumulators {
  std::vector<Value>
      gradients;       // one a parameter, after this micro-batch; of type dual(parameter) in accumulation precision
  Value loss, tokens;  // [] f64
};

std::string gradient_name(const std::string& parameter);  // of the accumulator's leaf

// Adds each parameter's cotangent to its accumulator. A parameter without one is an Error.
std::vector<Value> accumulate_gradients(Builder& b, const std::vector<Parameter>& parameters,
                                        const std::map<Value, Value>& cotangents);

// Appends the backward of `loss` and the accumulations. A parameter that the loss does not depend on is an Error.
Accumulators add_gradients(Builder& b, const std::vector<Parameter>& parameters, Value loss, Value tokens);

// The accumulation of the two sums alone, for evaluation.
Accumulators add_loss_sums(Builder& b, Value loss, Value tokens);

}  // namespace megalith
