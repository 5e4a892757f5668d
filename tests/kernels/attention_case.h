// One case of attention, and the definition in float64 that kernels are compared with.
#pragma once
#include "ops/attention.h"
#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

struct Sizes {
  i64 s, b, g, r, d, t = 0, v = 0;
  i64 keys() const { return t ? t : s; }
  i64 values() const { return v ? v : d; }  // size of a value
};

struct Case {
  AttentionSpec at;
  Sizes n;
  DType dtype;
  Array q, k, v, rows, starts, lengths, dout, table;

  std::vector<Array> forward_ins() const { return with_others({q, k, v, rows}); }
  std::vector<Array> backward_ins(const Array& o, const Array& lse) const {
    return with_others({dout, q, k, v, o, lse, rows});
  }
  std::vector<Array> with_others(std::vector<Array> ins) const {
    if (at.starts) ins.push_back(starts);
    if (at.lengths) ins.push_back(lengths);
    if (at.buckets) ins.push_back(table);
    return ins;
  }
};

Case make_case(DType t, const Sizes& n, AttentionSpec at = {});

// The plain definition, in double, over the full s x s matrix.
struct Plain {
  std::vector<double> o, lse, dq, dk, dv, dtable;
};
Plain plain(const Case& c);

struct Tolerances {
  Tolerance o, lse, gradient;
};
Tolerances tolerances(const Case& c);

std::string print(const Case& c);

// Runs the forward and the backward, and compares them with the definition.
void compare(const Case& c);

}  // namespace megalith::kernel_tests
