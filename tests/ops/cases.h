// A table with a case or more for each op: what goes in, and how. The layout and gradient checks walk it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/all.h"
#include "tests/harness/tensor.h"

namespace megalith::harness {

struct CaseInput {
  Tensor data;
  bool wants_grad = false;
  DType dtype = DType::f64;
  int like = -1;  // an earlier input whose state it shares: what came out of the same node
};

struct OpCase {
  AnyOp op;
  std::vector<CaseInput> ins;
  bool has_grad = false;
  Phase phase = Phase::forward;
  std::optional<AnyOp> runs = {};  // the op whose kernel runs, where `op` has a changed rule
};

using Sizes = std::map<char, i64>;  // of each letter

// Every dim 4, so that two axes of two ranks can split it; n (gate and up, the loss's two sums) is 2.
Sizes layout_sizes();
// No two alike, most of them odd.
Sizes odd_sizes();

std::vector<OpCase> op_cases(const Sizes& sizes);

// Ops that nothing may be differentiated through.
std::vector<AnyOp> ops_without_gradient();

}  // namespace megalith::harness
