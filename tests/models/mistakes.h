// A model made wrong on purpose, and who notices.
#pragma once
#include "tests/models/settings.h"

namespace megalith::harness {

// "" if nobody noticed; else "build: ..." (an Error while the graph is built), "run: ..." (replicas differ) or "numbers
// off by ...".
std::string noticed_by(const TrainingSpec& spec);

// Nodes of a graph whose op is a T that `wanted` likes.
template <class T, class F>
std::vector<int> nodes_with(const Graph& g, F&& wanted) {
  std::vector<int> out;
  for (int i = 0; i < int(g.nodes.size()); ++i)
    if (const T* op = g.nodes[i].op.template get_if<T>(); op && wanted(*op, g.nodes[i])) out.push_back(i);
  return out;
}

// Every use of a node's result reads its input instead.
void bypass(Graph& g, int node);

// Types of all results anew, after a leaf or an op was changed. Error where an op refuses.
void infer_again(Graph& g);

}  // namespace megalith::harness
