// The nodes that a quantizing pass adds for the amax of tensors, each once.
#pragma once
#include "ops/delayed_scale.h"
#include "passes/inserted_nodes.h"

namespace megalith {

class AmaxNodes {
 public:
  AmaxNodes(Graph& g, InsertedNodes& inserted) : g_(g), inserted_(inserted) {}

  // Of what a rank holds of the tensor, which is in one box. Before node `at`, as below.
  Value own(Value x, const Shape& box, int at);
  // The maximum over all ranks that hold a part of the tensor.
  Value known(Value own, int at);
  // The same, but ranks exchange it only while the state has no scale for tensor t.
  Value shared(Value own, Value state, i64 t, int at);
  // Where the cast of x itself gives it.
  Value given(Value x, Value amax) { return own_.try_emplace(x, amax).first->second; }

 private:
  Graph& g_;
  InsertedNodes& inserted_;
  std::map<Value, Value> own_;                      // by tensor
  std::map<std::pair<Value, Value>, Value> known_;  // by a rank's own amax and the scales' state
};

}  // namespace megalith
