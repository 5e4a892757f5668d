// Whether an op's rule line is right: every assignment of states to its inputs is refused when the node is added, or
// gives the logical result. Then its gradients are the logical ones, of the dual type.
#pragma once
#include <optional>

#include "tests/ops/cases.h"

namespace megalith::harness {

// A case built on a mesh: the op, and its gradients from a cotangent of its first result.
struct BuiltCase {
  Graph g;
  std::vector<Value> ins, outs;
  Value dy;                                  // a leaf; {} if the op has no gradient
  std::vector<std::pair<int, Value>> grads;  // by input
};

// Empty if the op refuses these layouts. Anything that goes wrong later is an Error.
std::optional<BuiltCase> build_case(const OpCase& c, const Mesh& mesh, const std::vector<Layout>& layouts);

// Results, then gradients, as logical arrays.
std::vector<Tensor> run_case(const OpCase& c, BuiltCase built);

struct LayoutReport {
  int right_on_one = 0, refused_on_one = 0, right_on_two = 0, refused_on_two = 0;
  std::vector<std::string> wrong;
  LayoutReport& operator+=(const LayoutReport& o);
};

// On one axis of two ranks every assignment, splits in block and in zigzag order; on two axes every pair of accepted
// ones (block).
LayoutReport check_layouts(const OpCase& c, bool on_two_axes = true);

}  // namespace megalith::harness
