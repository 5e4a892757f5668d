#include "exec/cuda/kernels/attention/indices.h"

#include "exec/cuda/kernel.h"

namespace megalith::cuda {

Indices indices_of(const Site& site, int i, int dim) { return indices_of(site, site.ins[size_t(i)], dim); }

Indices indices_of(const Site& site, const Type& type, int dim) {
  const std::vector<Run> runs = index_runs(site.mesh, type.shape, type.layout, site.coord, dim);
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
