#include "settings/parallel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <numeric>

#include "models/gpt/gpt.h"
#include "plan/balance.h"
#include "plan/stage_layout.h"
#include "plan/stages.h"
#include "step/model_size.h"

namespace megalith {

Mesh mesh_of(const ParallelConfig& p, const ModelConfig& model) {
  const i64 tk = std::gcd(p.tensor_model_parallel_size, model.groups());
  const bool mixture = model.moe.num_experts > 0;  // else nothing asks for the expert view
  return make_mesh({.dp = int(p.data_parallel_size()),
                    .cp = int(p.context_parallel_size),
                    .tk = int(tk),
                    .tr = int(p.tensor_model_parallel_size / tk),
                    .pp = int(p.pipeline_model_parallel_size),
                    .ep = mixture ? int(p.expert_model_parallel_size) : 1,
                    .etp = mixture ? int(p.expert_tensor_parallel_size) : 0});
}

// Shared out by what layers, the embedding, and head with loss cost a sequence: flops, and bytes as the flops that a
// GPU of the H100's kind does meanwhile. The embedding reads a row, writes it, and adds its gradient in f32; the loss
// reads the logits twice and writes them once, in bf16.
static double cost_of(const Model& model, int block) {
  constexpr double kFlopsPerByte = 150, kEmbeddingBytes = 14, kLossBytes = 6;
  const ModelSize size = size_of(model, {block, block + 1});
  return size.flops() + kFlopsPerByte * (kEmbeddingBytes * size.looked_up + kLossBytes * size.logits);
}

std::vector<i64> balanced_layers(const ParallelConfig& p, const ModelConfig& m) {
  check(p.num_virtual_stages_per_pipeline_rank >= 0 && p.num_virtual_stages_per_pipeline_rank <= m.num_layers + 2,
        "--num-virtual-stages-per-pipeline-rank {} with {} layers: 1 to {}, or leave it out",
        p.num_virtual_stages_per_pipeline_rank, m.num_layers, m.num_layers + 2);
  const Gpt model(m);
  const int last = model.blocks() - 1;
  std::vector<double> layers(size_t(last - 1));
  const std::vector<bool> mixtures = m.moe.pattern(m.num_layers);
  std::map<bool, double> costs;  // layers are of two kinds at the most
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto [it, is_new] = costs.try_emplace(!mixtures.empty() && mixtures[i]);
    if (is_new) it->second = cost_of(model, int(i) + 1);
    layers[i] = it->second;
  }
  const i64 parts = p.pipeline_model_parallel_size * std::max<i64>(1, p.num_virtual_stages_per_pipeline_rank);
  return balance(layers, cost_of(model, 0), cost_of(model, last), parts);
}

// Of each virtual stage.
static std::vector<i64> layers_of_stages(const ParallelConfig& p, const ModelConfig& model) {
  if (p.pipeline_layout == "auto") return balanced_layers(p, model);
  if (!p.pipeline_layout.empty())
    return stages_of_layout(p.pipeline_layout, model.num_layers, p.pipeline_model_parallel_size, model.mtp.num_layers);
  LayerSplit split{.layers = model.num_layers, .stages = int(p.pipeline_model_parallel_size)};
  if (p.decoder_first_pipeline_num_layers) split.first = p.decoder_first_pipeline_num_layers;
  if (p.decoder_last_pipeline_num_layers) split.last = p.decoder_last_pipeline_num_layers;
  split.embedding_counts = p.account_for_embedding_in_pipeline_split;
  split.loss_counts = p.account_for_loss_in_pipeline_split;
  if (p.num_virtual_stages_per_pipeline_rank) split.chunks = int(p.num_virtual_stages_per_pipeline_rank);
  if (p.num_layers_per_virtual_pipeline_stage) split.chunks = chunks_of(split, p.num_layers_per_virtual_pipeline_stage);
  return split_layers(split);
}

PipelineSpec pipeline_of(const ParallelConfig& p, const ModelConfig& model, int stage, int micro_batches) {
  const int stages = int(p.pipeline_model_parallel_size);
  PipelineSpec out{stage, {stages, 1, micro_batches}, layers_of_stages(p, model)};
  out.schedule.chunks = int(out.blocks.size()) / stages;
  ++out.blocks.front(), ++out.blocks.back();  // the embedding; the head
  out.schedule.group = int(p.microbatch_group_size_per_vp_stage);
  out.schedule.split_weights = p.pipeline_schedule == PipelineSchedule::zero_bubble;
  check_schedule(out.schedule);
  return out;
}

ParallelStyle style_of(const ParallelConfig& p) {
  return {.sequence_parallel = p.sequence_parallel && p.tensor_model_parallel_size > 1,
          .cp_all_to_all = p.cp_comm_type == CpCommType::a2a,
          .pack_qkv = true,
          .expert_rows = p.moe_expert_rank_capacity_factor};
}

std::string rank_map(const Mesh& mesh) {
  constexpr size_t kShown = 8;  // groups of an axis; runs of thousands of ranks have as many
  if (mesh.num_ranks() == 1) return {};
  std::string out =
      fmt::format("ranks: {} = pp {} x dp {} x cp {} x tp {} (neighbours in tp)", mesh.num_ranks(),
                  mesh.n(groups::pipeline), mesh.n(groups::data), mesh.n(groups::context), mesh.n(groups::tensor));
  const auto row = [&](const char* name, AxisSet axes) {
    if (mesh.n(axes) == 1) return;
    const auto groups = mesh.groups(axes);
    out += fmt::format("\n  {:<17} groups:", name);
    for (size_t i = 0; i < std::min(groups.size(), kShown); ++i) out += fmt::format(" [{}]", fmt::join(groups[i], " "));
    if (groups.size() > kShown) out += fmt::format(" and {} more", groups.size() - kShown);
  };
  row("tensor-parallel", groups::tensor);
  row("context-parallel", groups::context);
  row("data-parallel", groups::data);
  row("pipeline", groups::pipeline);
  if (mesh.n(groups::expert) > 1) row("expert-parallel", groups::expert);
  if (mesh.n(groups::expert) > 1) row("expert-data", groups::expert_data);
  return out;
}

}  // namespace megalith
