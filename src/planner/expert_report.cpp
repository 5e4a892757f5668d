#include "planner/expert_report.h"

#include <fmt/format.h>

#include "base/mib.h"
#include "ops/expert_parts.h"
#include "settings/precision.h"

namespace megalith {

// Bytes that a layer's forward has for each row: the experts' input, both products, and the activation's output.
static i64 bytes_of_row(const Options& o) {
  const ModelConfig& m = o.model;
  const i64 h = m.moe.latent_size ? m.moe.latent_size : m.hidden_size;
  const i64 f = m.expert_width() / o.parallel.expert_tensor_size();
  return (2 * h + (m.gated() ? 3 : 2) * f) * size_of(precision_of(o).activations);
}

std::string expert_lines(const Options& o) {
  const ModelConfig& m = o.model;
  if (m.moe.num_experts == 0) return {};
  const ParallelConfig& p = o.parallel;
  const i64 ep = p.expert_model_parallel_size, group = ep * p.expert_tensor_size();
  const i64 here = p.tensor_model_parallel_size * p.context_parallel_size;  // ranks that share a sample
  const i64 tokens = o.train.micro_batch_size * m.seq_length * group / here;
  const ExpertRoom room =
      expert_room(tokens, m.moe.router_topk, m.moe.num_experts, ep, p.moe_expert_rank_capacity_factor);
  const double row = mib(bytes_of_row(o));
  const auto line = [](const char* what, auto balanced, auto here, auto worst, const char* unit) {
    return fmt::format("  {:<28} {:>16} {}; {} if balanced, {} at worst", what, here, unit, balanced, worst);
  };
  std::string out = line("experts' rows, a layer", room.balanced, room.rows, room.worst, "of a rank");
  if (room.parts > 1) out += fmt::format(", in up to {} parts", room.parts);
  const auto text = [&](i64 rows) { return fmt::format("{:.1f}", double(rows) * row); };
  return out + "\n" + line("their buffers, forward", text(room.balanced), text(room.rows), text(room.worst), "MiB") +
         "\n";
}

}  // namespace megalith
