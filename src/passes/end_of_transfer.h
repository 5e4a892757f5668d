// What passes that begin transfers on a lane share.
#pragma once
#include "graph/graph.h"

namespace megalith {

inline constexpr int kExpertLane = 4;  // of tokens on their way to experts and back

// Whether the node adds to a parameter's gradient in place.
bool adds_to_gradient(const Graph& g, const Node& n);

// Moves the nodes `moved`, in their order, before the node at index `to`.
void move_nodes(Graph& g, size_t to, const std::vector<size_t>& moved);

// The relayout that makes `begun` is on a lane: puts a Wait before its first reader, which all readers then read.
void end_before_reader(Graph& g, Value begun);

}  // namespace megalith
