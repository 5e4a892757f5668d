// Nodes that a pass adds between the nodes of a graph, all at once at its end.
#pragma once
#include <map>
#include <vector>

#include "graph/relayout_op.h"

namespace megalith {

class InsertedNodes {
 public:
  explicit InsertedNodes(Graph& g) : g_(g) {}

  // Before node `at`, of its phase and origin. Returns the op's results.
  std::vector<Value> before(int at, AnyOp op, const std::vector<Value>& ins);
  // The op that brings v's axes to another state. Not inserted.
  Relayout relayout(Value v, AxisSet axes, State to, Order order = Order::block) const;
  void behind(int at, Node n) { behind_[at].push_back(std::move(n)); }
  // Puts them into the graph. False: there are none.
  bool place();

 private:
  Graph& g_;
  std::map<int, std::vector<Node>> before_, behind_;  // by node
};

}  // namespace megalith
