// Many relayouts as one program, so that they share graphs and communicators: x0 -> y0, x1 -> y1 ...; and what should
// come out by the harness.
#pragma once
#include <functional>

#include "exec/cuda/executor.h"
#include "tests/harness/move.h"

namespace megalith::harness {

struct RelayoutCase {
  Type from;
  AxisSet axes;
  State to;
  Order order = Order::block;
  int lane = 0;
  bool in_place = false;  // of a value that ends with it, not of a leaf
  int rotated = 0;
};

class RelayoutBatch {
 public:
  RelayoutBatch(const Mesh& mesh, std::vector<RelayoutCase> cases, cuda::Device& device);

  const Plan& plan() const { return plan_; }
  void fill(cuda::Executor& executor, int rank) const;
  // Holds what the rank's executor has in its outputs against what should be there.
  void expect(cuda::Executor& executor, int rank) const;

 private:
  struct Row {
    RelayoutCase what;
    const Relayout* op = nullptr;
    Type to;
    Blocks held, want;  // by rank
  };
  std::string name_of(const Row& row) const;
  Graph graph_;
  std::vector<Row> rows_;
  Plan plan_;
};

// Every row of the table over tp, in line and on a lane each, of [16, 8, 16] values; over cp their first dim is cut in
// zigzag, over dp their second.
std::vector<RelayoutCase> every_row(DType dtype);
// Over cp, into and out of zigzag.
std::vector<RelayoutCase> zigzags(DType dtype);
// Over cp (of `ranks`), from each rotation of parts to each other, in line and on a lane.
std::vector<RelayoutCase> rotations(DType dtype, int ranks);
// Over dp: shapes that do not divide, scalars, nothing at all.
std::vector<RelayoutCase> odd_sums(DType dtype);

}  // namespace megalith::harness
