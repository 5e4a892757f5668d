#include <fmt/format.h>

#include "exec/cuda_needs/cudnn_problem.h"

namespace megalith::cuda {

std::string to_string(const CudnnAttention& p) {
  std::string text = fmt::format("{}b {}g {}r {}s {}t {}d of {}b {}g, rows of {} and {} heads", p.b, p.g, p.r, p.s, p.t,
                                 p.d, p.all_b, p.all_g, p.query_heads, p.key_heads);
  if (p.dtype != DType::bf16) text += fmt::format(" {}", name_of(p.dtype));
  if (p.window > 0) text += fmt::format(" window {}", p.window);
  if (!p.causal) text += " all keys";
  if (p.lengths) text += " of sequences that end early";
  if (p.bias) text += " biased";
  if (p.backward) text += p.deterministic ? " backward" : " backward, any order";
  return text;
}

}  // namespace megalith::cuda
