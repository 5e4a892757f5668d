#include "exec/cuda/draw.h"

#include "exec/cuda/draw_launch.h"

namespace megalith::cuda {

void draw(const Draw& d, const Type& type, const Mesh& mesh, const Coord& coord, std::byte* out, cudaStream_t stream) {
  check(type.dtype == DType::f32 || type.dtype == DType::bf16 || type.dtype == DType::u16,
        "{}: f32, bf16 or what that lacks (u16) can be drawn", to_string(type));
  check(type.ndim() <= kMostDims, "{}: at most {} dims can be drawn", to_string(type), kMostDims);
  DrawLaunch l{d.key, d.mean, d.std, d.true_rows, d.uniform, type.ndim(), {}, {}, {}, type.dtype};
  for (int k = 0; k < type.ndim(); ++k) {
    const std::vector<Run> runs = index_runs(mesh, type.shape, type.layout, coord, k);
    check(runs.size() <= kMostRuns, "{}: a dim in {} pieces, at most {} can be drawn", to_string(type), runs.size(),
          kMostRuns);
    l.runs[k] = int(runs.size());
    for (int r = 0; r < l.runs[k]; ++r) l.run[k][r] = {l.size[k], runs[r].start}, l.size[k] += runs[r].length;
  }
  launch(l, out, stream);
}

}  // namespace megalith::cuda
