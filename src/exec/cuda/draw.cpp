#include "exec/cuda/draw.h"

#include "exec/cuda/draw_launch.h"
#include "exec/cuda/type_runs.h"

namespace megalith::cuda {

void draw(const Draw& d, const Type& type, const Mesh& mesh, const Coord& coord, std::byte* out, cudaStream_t stream) {
  const bool is_half = type.dtype == DType::bf16 || type.dtype == DType::f16 || type.dtype == DType::u16;
  check(type.dtype == DType::f32 || is_half, "{}: f32, bf16, low halves (u16) or f16 can be initialized",
        to_string(type));
  const DrawLaunch l{d.key, d.mean, d.std, d.true_rows, d.uniform, runs_of(type, mesh, coord), type.dtype};
  launch(l, out, stream);
}

}  // namespace megalith::cuda
