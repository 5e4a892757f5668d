// The CPU backend, looked at: what state a run leaves, and what happens if one of its relayouts is left out.
#pragma once
#include <memory>

#include "plan/interpreter.h"

namespace megalith::parity {

struct Watch {
  std::string fault;  // the kind of relayout of which one is left out; empty: none
  u64 state = 0;      // of all parameters and the optimizer's state that this rank held at the end
  int left_out = 0;   // instructions
};

// `watch` is written while and after the interpreter lives.
std::unique_ptr<Backend> watched(std::unique_ptr<Backend> real, Watch& watch);

// The kinds of relayouts of a plan's training programs, as "reduce_scatter over tp_kv tp_rep, backward, layer mlp":
// numbers of layers left out.
std::vector<std::string> kinds_of_relayouts(const Plan& plan);

}  // namespace megalith::parity
