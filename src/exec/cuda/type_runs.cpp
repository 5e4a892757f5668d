#include "exec/cuda/type_runs.h"

namespace megalith::cuda {

BlockRuns runs_of(const Type& type, const Mesh& mesh, const Coord& coord) {
  check(type.ndim() <= kMostDims, "{}: at most {} dims are taken", to_string(type), kMostDims);
  BlockRuns out{.ndim = type.ndim(), .size = {}, .runs = {}, .run = {}};
  for (int k = 0; k < type.ndim(); ++k) {
    const std::vector<Run> runs = index_runs(mesh, type.shape, type.layout, coord, k);
    check(runs.size() <= kMostRuns, "{}: a dim in {} pieces, at most {} are taken", to_string(type), runs.size(),
          kMostRuns);
    out.runs[k] = int(runs.size());
    for (int r = 0; r < out.runs[k]; ++r)
      out.run[k][r] = {out.size[k], runs[size_t(r)].start}, out.size[k] += runs[size_t(r)].length;
  }
  return out;
}

}  // namespace megalith::cuda
