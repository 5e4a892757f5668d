// The plan made without the GPU, from its recorded facts, equals the plan made with it. It is equal to the byte where
// all workspaces were recorded, and never smaller elsewhere.
#include <gtest/gtest.h>

#include "device/make_backend.h"
#include "exec/cuda/backend.h"
#include "exec/sim/paper_backend.h"
#include "facts/tells_facts.h"
#include "models/gpt/gpt.h"
#include "step/step.h"

namespace megalith {

namespace {

StepSpec spec(bool llama, DType dtype, i64 hidden, i64 heads, i64 groups, const Mesh& mesh) {
  StepSpec s;
  s.mesh = mesh;
  ModelConfig m;
  m.num_layers = 2, m.hidden_size = hidden, m.num_attention_heads = heads, m.num_query_groups = groups;
  m.seq_length = m.max_position_embeddings = 512, m.vocab_size = 1000;
  if (llama) {
    m.position_embedding_type = PositionEmbedding::rope, m.normalization = Normalization::rms_norm;
    m.activation = Activation::swiglu, m.add_bias_linear = false, m.untie_embeddings_and_output_weights = true;
  }
  m.resolve();
  s.model = std::make_shared<Gpt>(m, ParallelStyle{.pack_qkv = true});
  s.mode.batch = 4, s.mode.precision = computing_in(dtype);
  s.optimizer.lr = 1e-3;
  s.evaluate = true;
  return s;
}

}  // namespace

TEST(Paper, plans_are_the_cards) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  const Mesh one = make_mesh({}), two = make_mesh({2, 1, 1, 1});
  const StepSpec specs[] = {spec(false, DType::bf16, 768, 12, 0, one), spec(true, DType::bf16, 1024, 8, 2, one),
                            spec(true, DType::bf16, 640, 10, 5, two), spec(false, DType::f32, 768, 12, 0, one),
                            spec(true, DType::f32, 96, 2, 1, one)};
  for (const StepSpec& s : specs) {
    const std::unique_ptr<Backend> gpu = make_backend({"cuda", "none"});
    const PlannedStep there = plan_step(s, *gpu);
    DeviceFacts facts;
    dynamic_cast<const TellsFacts&>(*gpu).tell(facts);
    const auto paper = sim::make_paper_backend(facts);
    const i64 arena = plan_step(s, *paper).plan.arena_bytes;
    if (paper->bounded().empty())
      EXPECT_EQ(arena, there.plan.arena_bytes);
    else
      EXPECT_GE(arena, there.plan.arena_bytes) << paper->bounded()[0];
    facts.product_workspaces.clear(), facts.attention_workspaces.clear();
    EXPECT_GE(plan_step(s, *sim::make_paper_backend(facts)).plan.arena_bytes, there.plan.arena_bytes);
  }
}

}  // namespace megalith
