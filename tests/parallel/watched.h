// A CPU backend that records the final state of a run, and can omit one of its relayouts.
#pragma once
#include <memory>

#include "plan/interpreter.h"

namespace megalith::parity {

struct Watch {
  std::string fault;  // the kind of relayout to omit once; empty: none
  u64 state = 0;      // hash of the parameters and the optimizer's state of this rank at the end
  int left_out = 0;   // number of omitted instructions
};

// Fills `watch` when it makes an interpreter and when it destroys one. `watch` must outlive them.
std::unique_ptr<Backend> watched(std::unique_ptr<Backend> real, Watch& watch);

// The kinds of relayouts in a plan's training programs, such as "reduce_scatter over tp_kv tp_rep, backward, layer
// mlp". The kinds have no layer numbers.
std::vector<std::string> kinds_of_relayouts(const Plan& plan);

}  // namespace megalith::parity
