#include "settings/parallel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <numeric>

#include "models/make_model.h"
#include "plan/balance.h"
#include "plan/stage_layout.h"
#include "plan/stages.h"
#include "step/model_size.h"

namespace megalith {

Mesh mesh_of(const ParallelConfig& p, const ModelConfig& model) {
  const i64 tp_kv = std::gcd(p.tensor_model_parallel_size, model.groups());
  const bool mixture = model.moe.num_experts > 0;  // else there is no expert view
  return make_mesh({.dp = int(p.data_parallel_size()),
                    .cp = int(p.context_parallel_size),
                    .tp_kv = int(tp_kv),
                    .tp_rep = int(p.tensor_model_parallel_size / tp_kv),
                    .pp = int(p.stages()),
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

// Layers of the model, of an encoder-decoder those of both stacks.
static i64 all_layers(const ModelConfig& m) { return m.num_layers + (m.is_t5() ? m.t5.decoder_num_layers : 0); }

// By layer: those of one kind cost the same. An encoder-decoder's first layer of the decoder embeds too.
static std::vector<int> kinds_of_layers(const ModelConfig& m) {
  const std::vector<bool> mixtures = m.moe.pattern(m.num_layers);
  std::vector<int> out;
  for (i64 i = 0; i < all_layers(m); ++i)
    out.push_back(i < m.num_layers ? !mixtures.empty() && mixtures[size_t(i)] : i == m.num_layers ? 2 : 3);
  return out;
}

std::vector<i64> balanced_layers(const ParallelConfig& p, const ModelConfig& m) {
  check(p.num_virtual_stages_per_pipeline_rank >= 0 && p.num_virtual_stages_per_pipeline_rank <= m.num_layers + 2,
        "--num-virtual-stages-per-pipeline-rank {} with {} layers: 1 to {}, or leave it out",
        p.num_virtual_stages_per_pipeline_rank, m.num_layers, m.num_layers + 2);
  const std::shared_ptr<const Model> model = m.is_t5() ? make_model(m) : std::make_shared<Gpt>(m);
  const int last = model->blocks() - 1;
  const std::vector<int> kinds = kinds_of_layers(m);
  std::map<int, double> costs;
  std::vector<double> layers;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const auto [it, is_new] = costs.try_emplace(kinds[i]);
    if (is_new) it->second = cost_of(*model, int(i) + 1);
    layers.push_back(it->second);
  }
  const i64 parts = p.stages() * std::max<i64>(1, p.num_virtual_stages_per_pipeline_rank);
  return balance(layers, cost_of(*model, 0), cost_of(*model, last), parts);
}

// Each stack has its own stages.
static std::vector<i64> layers_of_stacks(const ParallelConfig& p, const ModelConfig& m) {
  check(p.num_virtual_stages_per_pipeline_rank <= 1 && p.num_layers_per_virtual_pipeline_stage == 0,
        "--encoder-pipeline-model-parallel-size {} does not go with several virtual stages a rank, of which each rank "
        "has "
        "some of both stacks: give --pipeline-model-parallel-size {} alone",
        p.encoder_pipeline_model_parallel_size, p.stages());
  LayerSplit encoder{.layers = m.num_layers, .stages = int(p.encoder_pipeline_model_parallel_size)};
  encoder.embedding_counts = p.account_for_embedding_in_pipeline_split;
  LayerSplit decoder{.layers = m.t5.decoder_num_layers, .stages = int(p.pipeline_model_parallel_size)};
  decoder.loss_counts = p.account_for_loss_in_pipeline_split;
  if (p.decoder_first_pipeline_num_layers) decoder.first = p.decoder_first_pipeline_num_layers;
  if (p.decoder_last_pipeline_num_layers) decoder.last = p.decoder_last_pipeline_num_layers;
  std::vector<i64> out = split_layers(encoder);
  for (const i64 layers : split_layers(decoder)) out.push_back(layers);
  return out;
}

// Of each virtual stage.
static std::vector<i64> layers_of_stages(const ParallelConfig& p, const ModelConfig& model) {
  if (p.pipeline_layout == "auto") return balanced_layers(p, model);
  if (!p.pipeline_layout.empty())
    return stages_of_layout(p.pipeline_layout,
                            {model.num_layers, model.is_t5() ? model.t5.decoder_num_layers : 0, model.mtp.num_layers},
                            p.stages());
  if (p.encoder_pipeline_model_parallel_size > 0) return layers_of_stacks(p, model);
  LayerSplit split{.layers = all_layers(model), .stages = int(p.stages())};
  if (p.decoder_first_pipeline_num_layers) split.first = p.decoder_first_pipeline_num_layers;
  if (p.decoder_last_pipeline_num_layers) split.last = p.decoder_last_pipeline_num_layers;
  split.embedding_counts = p.account_for_embedding_in_pipeline_split;
  split.loss_counts = p.account_for_loss_in_pipeline_split;
  if (p.num_virtual_stages_per_pipeline_rank) split.chunks = int(p.num_virtual_stages_per_pipeline_rank);
  if (p.num_layers_per_virtual_pipeline_stage) split.chunks = chunks_of(split, p.num_layers_per_virtual_pipeline_stage);
  return split_layers(split);
}

PipelineSpec pipeline_of(const ParallelConfig& p, const ModelConfig& model, int stage, int micro_batches) {
  const int stages = int(p.stages());
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
