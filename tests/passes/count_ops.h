#pragma once
#include <concepts>

#include "graph/graph.h"

namespace megalith {

// Counts the nodes of an op for which `is` is true. `is` is a predicate of the op, or of the op and its node.
template <class T, class F>
int count_ops(const Graph& g, F&& is) {
  int n = 0;
  for (const Node& node : g.nodes) {
    const T* op = node.op.template get_if<T>();
    if constexpr (std::invocable<F, const T&, const Node&>) {
      if (op) n += is(*op, node);
    } else {
      if (op) n += is(*op);
    }
  }
  return n;
}

template <class T>
int count_ops(const Graph& g) {
  return count_ops<T>(g, [](const T&) { return true; });
}

}  // namespace megalith
