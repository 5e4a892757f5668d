// Turns a forward graph into what a micro-batch runs: the backward, and one accumulator for each parameter's gradient
// and for the two sums of the loss.
#pragma once
#include <string>
#include <vector>

#include "graph/builder.h"
#include "models/model.h"

namespace megalith {

// The leaves of the loss's sums; known by these names to the update and to checkpoints of its numbers.
inline constexpr const char *kLossSum = "loss_sum", *kTokenSum = "token_sum";

// The loss's sums over the micro-batches so far, [] f64.
struct LossSums {
  Value sum, weight;
};

struct Accumulators {
  // One a parameter, after this micro-batch; of type dual(parameter).
  std::vector<Value> gradients;
  LossSums loss;
};

// Adds each update of its tensor, after the present nodes.
void update_untrained(Builder& b, const std::vector<Untrained>& untrained);

// Whether the node is such an update. Its tensor's readers precede it, so passes do not move it.
bool updates_untrained(const Graph& g, const Node& n);

std::string gradient_name(const std::string& parameter);  // of the accumulator's leaf

// The cotangents from which the backward starts. `has_loss`: the first term is the loss.
std::map<Value, Value> roots_of(Builder& b, const std::vector<LossTerm>& terms, bool has_loss = true);

// Adds each parameter's cotangent to its accumulator, in the recipe's type. A parameter without one is an Error.
std::vector<Value> accumulate_gradients(Builder& b, const std::vector<Parameter>& parameters,
                                        const std::map<Value, Value>& cotangents, const Precision& precision);
// An accumulator's leaf.
Value gradient_leaf(Builder& b, const Parameter& parameter, const Precision& precision);

// The accumulation of the loss. The sums of its other terms: passes/tally.h.
LossSums accumulate_loss(Builder& b, const LossTerm& loss);
// The same of another term, for a program that has no tally.
LossSums accumulate_term(Builder& b, const LossTerm& term);
// The same leaves as another graph finds them. `axes`: over which they are sums.
LossSums loss_leaves(Builder& b, const AxisSet& axes);

// Appends the backward of the terms and the accumulations of gradients and loss. A parameter that they do not depend on
// is an Error.
Accumulators add_gradients(Builder& b, const std::vector<Parameter>& parameters, const std::vector<LossTerm>& terms,
                           const Precision& precision = {});

}  // namespace megalith
