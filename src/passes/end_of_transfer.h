// Shared code of passes that start transfers on a lane.
#pragma once
#include "graph/graph.h"

namespace megalith {

inline constexpr int kExpertLane = 4;  // of tokens on their way to experts and back

// Whether the node adds to a parameter's gradient in place.
bool adds_to_gradient(const Graph& g, const Node& n);

// Moves the nodes `moved`, in their order, before the node at index `to`.
void move_nodes(Graph& g, size_t to, const std::vector<size_t>& moved);

// For a relayout on a lane with the result `begun`: inserts a Wait before its first reader. All readers then read the
// Wait's result.
void end_before_reader(Graph& g, Value begun);

}  // namespace megalith
