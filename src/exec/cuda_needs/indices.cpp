#include "exec/cuda_needs/indices.h"

#include "exec/cuda_needs/local_node.h"

namespace megalith::cuda {

Indices indices_of(const LocalNode& node, int i, int dim) { return indices_of(node, node.ins[size_t(i)], dim); }

Indices indices_of(const LocalNode& node, const Type& type, int dim) {
  const std::vector<Run> runs = index_runs(node.mesh, type.shape, type.layout, node.coord, dim);
  check(runs.size() <= size_t(Indices::kMost), "dim {} of {} lies in {} runs on a rank: want at most {}", dim,
        to_string(type), runs.size(), Indices::kMost);
  Indices out;
  for (const Run& r : runs) {
    out.start[out.runs] = r.start, out.place[out.runs] = out.n;
    out.n += r.length, ++out.runs;
  }
  return out;
}

bool runs_divide(const Indices& x, i64 k) {
  for (int r = 0; r < x.runs; ++r)
    if (x.place[r] % k != 0) return false;
  return x.n % k == 0;
}

}  // namespace megalith::cuda
