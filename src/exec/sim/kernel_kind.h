// How a clock sees an instruction: the kernels to compare it with, their sizes, and the amount of work. The recording
// of facts and their use share it.
#pragma once
#include <string>
#include <vector>

#include "plan/plan.h"

namespace megalith::sim {

struct KernelKind {
  enum class Table { product, attention, memory } table = Table::memory;
  std::string form;        // op, dtypes, orientation
  std::vector<i64> sizes;  // of a product m, n, k; of attention s, t, d, heads, batch; else bytes, width
  double work = 0;         // flops of products and attention, else bytes
  double moved = 0;        // bytes that a product reads and writes
  double reads_sums = 0;   // of them, of sums of earlier micro-batches, to which it adds
};

KernelKind kind_of(const Plan& plan, const Program& program, const Instruction& in);
// A product of experts. Its weights are read once for all rows, so its rate depends on the rows of an expert.
bool is_of_experts(const AnyOp& op);

}  // namespace megalith::sim
