// One-rank gradients of full models against differences of the loss, the passes that must not change results, and
// initial values.
#include <gtest/gtest.h>

#include <cmath>

#include "passes/pass.h"
#include "tests/models/settings.h"

namespace megalith::harness {

namespace {

std::vector<std::pair<std::string, ModelConfig>> models() {
  ModelConfig head_norms = llama_like(), bloom = gpt2_like(), window = llama_like(), falcon = llama_like();
  head_norms.qk_layernorm = true, head_norms.rope_scaling.kind = RopeScaling::Kind::llama3,
  head_norms.rope_scaling.original_length = 8;
  bloom.position_embedding_type = PositionEmbedding::alibi, bloom.embedding_layernorm = true;
  window.sliding_window = 5, window.add_qkv_bias = true, window.rotary_percent = 0.5,
  window.activation = Activation::gelu;
  falcon.parallel_residual = falcon.parallel_shared_norm = true, falcon.activation = Activation::squared_relu;
  ModelConfig odd = llama_like(), scaled = bloom;
  odd.rotary_percent = 0.75, odd.rotary_interleaved = true, odd.add_attention_bias = true;
  scaled.scale_alibi = scaled.fp32_residual_connection = true, scaled.add_bias_linear = false,
  scaled.add_mlp_bias = true;
  ModelConfig gemma = llama_like(), olmo2 = llama_like();
  gemma.apply_layernorm_1p = gemma.scale_embedding = gemma.qk_layernorm = true, gemma.activation = Activation::geglu;
  olmo2.norm_block_output = olmo2.qk_layernorm = olmo2.qk_layernorm_across_heads = true,
  olmo2.activation = Activation::quick_geglu;
  ModelConfig mtp = llama_like(), mtp_tied = gpt2_like();
  mtp.mtp = {.num_layers = 2, .loss_scaling_factor = 0.7};
  mtp_tied.mtp = {.num_layers = 2, .loss_scaling_factor = 0.7, .use_repeated_layer = true};
  mtp_tied.position_embedding_type = PositionEmbedding::alibi, mtp_tied.embedding_layernorm = true;
  ModelConfig mla = mla_like(), one_latent = mla_like(), longrope = llama_like(), dynamic = llama_like();
  one_latent.mla.q_lora_rank = 0, one_latent.mla.v_head_dim = 12, one_latent.qk_layernorm = false,
  one_latent.rope_scaling = {};
  longrope.rope_scaling = {.kind = RopeScaling::Kind::longrope, .factor = 2, .original_length = 8};
  longrope.rope_scaling.short_factors = {1, 1}, longrope.rope_scaling.long_factors = {1.5, 3};
  dynamic.rope_scaling = {.kind = RopeScaling::Kind::dynamic, .factor = 2, .original_length = 8};
  ModelConfig bert = bert_like(), post_norm = bert_like(), t5_rope = t5_megatron();
  ModelConfig t5_smooth = t5_v10();  // relu has a corner, where differences are none
  post_norm.bert.post_norm = post_norm.embedding_layernorm = true, post_norm.activation = Activation::gelu;
  t5_rope.position_embedding_type = PositionEmbedding::rope, t5_smooth.activation = Activation::gelu_tanh;
  return {{"bert", bert},
          {"bert_post_norm", post_norm},
          {"t5_smooth", t5_smooth},
          {"t5_v11", t5_v11()},
          {"t5_megatron", t5_megatron()},
          {"t5_rope", t5_rope},
          {"retro_gpt2", retro_gpt2()},
          {"retro_llama", retro_llama()},
          {"mtp", mtp},
          {"mtp_tied", mtp_tied},
          {"mla", mla},
          {"one_latent", one_latent},
          {"longrope", longrope},
          {"dynamic", dynamic},
          {"gemma", gemma},
          {"olmo2", olmo2},
          {"llama", llama_like()},
          {"gpt2", gpt2_like()},
          {"head_norms", head_norms},
          {"bloom", bloom},
          {"window", window},
          {"falcon", falcon},
          {"odd", odd},
          {"scaled", scaled}};
}

Tensors moved(const Tensors& at, const Tensors& u, double h) {
  Tensors out = at;
  for (auto& [name, t] : out)
    for (size_t i = 0; i < t.v.size(); ++i) t.v[i] += h * u.at(name).v[i];
  return out;
}

TrainingSpec one_rank(const ModelConfig& m) {
  TrainingSpec s{.model = m, .mesh = make_mesh({})};
  s.model.padded_vocab_size = m.vocab_size;
  return s;
}

}  // namespace

// Ways of attention that know no window are faster, and take less memory.
TEST(Model, a_window_over_the_whole_sequence_is_none) {
  TrainingSpec spec = one_rank(llama_like());
  for (const auto& [wider, want] : {std::pair<i64, i64>{-1, spec.model.seq_length - 1}, {0, 0}, {1, 0}}) {
    spec.model.sliding_window = spec.model.seq_length + wider;
    int found = 0;
    const TrainingGraph t = build_training(spec);
    for (const Node& n : t.g.nodes)
      if (const auto* op = n.op.get_if<Attention>()) {
        ++found;
        EXPECT_EQ(op->at.window, want) << wider;
      }
    EXPECT_GT(found, 0);
  }
}

TEST(Model, one_rank_gradients_agree_with_differences) {
  for (const auto& [name, model] : models()) {
    const TrainingSpec spec = one_rank(model);
    const Batch batch = make_batch(spec.model, false);
    Training t(spec, batch);
    const Tensors at = initial_values(t.parameters());
    const Tensors g = t.step(at).gradients;
    Tensors u;
    double have = 0;
    for (const auto& [p, x] : at) {
      u[p] = random_tensor(x.shape, 9);
      for (size_t i = 0; i < x.v.size(); ++i) have += g.at(p).v[i] * u.at(p).v[i];
    }
    const double h = 1e-5;  // times the direction's length, some 70
    auto loss = [&](double k) { return t.loss(moved(at, u, k * h)); };
    const double slope = (8 * (loss(1) - loss(-1)) - (loss(2) - loss(-2))) / (12 * h);
    EXPECT_NEAR(have, slope, 1e-8 * std::max(1.0, std::abs(slope))) << name;
    EXPECT_GT(std::abs(slope), 1e-3) << name;
  }
}

TEST(Model, passes_change_no_result) {
  ModelConfig mixture = llama_like();
  mixture.moe.num_experts = 4;
  for (const ModelConfig& model : {llama_like(), gpt2_like(), mixture})
    for (const Mesh& mesh : {make_mesh({}), make_mesh({1, 1, 2, 1})}) {
      TrainingSpec spec{.model = model, .mesh = mesh, .micro_batches = 2};
      spec.style.sequence_parallel = model.moe.num_experts > 0;
      const Batch batch = make_batch(model, false);
      Training with(spec, batch);
      const Tensors at = initial_values(with.parameters());
      const StepResult a = with.step(at);
      std::set<std::string> all;
      for (const Pass& p : standard_passes()) all.insert(p.name);
      for (const std::string& off : all) {
        spec.passes_off = {off};
        const StepResult b = Training(spec, batch).step(at);
        if (off == "rematerialize" || off == "keep-repeated")
          for (const auto& [name, w] : a.after) EXPECT_EQ(max_difference(w, b.after.at(name)), 0) << name;
        const bool rounds = off == "fuse-add" || off == "fuse-bias" || off == "fuse-residual" ||
                            off == "fuse-bias-grad";  // at other places
        const double bound = rounds || off == "fuse-accumulate" ? 1e-14 : 0;
        EXPECT_NEAR(a.loss, b.loss, rounds ? 1e-14 : 0) << off;
        EXPECT_NEAR(a.norm, b.norm, 1e-13) << off;
        for (const auto& [name, g] : a.gradients)
          EXPECT_LE(max_difference(g, b.gradients.at(name)), bound) << off << ": " << name;
        if (bound == 0)
          for (const auto& [name, w] : a.after)
            EXPECT_LE(max_difference(w, b.after.at(name)), 1e-14) << off << ": " << name;
      }
      spec.passes_off = all;
      const StepResult b = Training(spec, batch).step(at);
      EXPECT_NEAR(a.loss, b.loss, 1e-14);
      for (const auto& [name, g] : a.gradients) EXPECT_LE(max_difference(g, b.gradients.at(name)), 1e-14) << name;
    }
}

// Rows that a step's tokens do not name have no gradient, whatever the step before left there.
TEST(Model, rows_are_marked_anew_by_each_step) {
  ModelConfig model = llama_like();
  model.untie_embeddings_and_output_weights = true;
  model.vocab_size = model.padded_vocab_size = 8 * model.seq_length;  // twice the tokens of a micro-batch
  TrainingSpec spec{.model = model, .mesh = make_mesh({}), .micro_batches = 2};
  Batch batch = make_batch(model, false);
  Training marked(spec, batch);
  spec.passes_off = {"mark-rows"};
  Training whole(spec, batch);
  const Tensors at = initial_values(marked.parameters());
  for (int step = 0; step < 3; ++step) {
    batch.tokens = random_integers(batch.tokens.shape, model.vocab_size, 10 + u64(step));
    const StepResult a = marked.step(at), b = whole.step(at);
    EXPECT_NEAR(a.norm, b.norm, 1e-14 * b.norm);
    for (const auto& [name, w] : a.after) EXPECT_LE(max_difference(w, b.after.at(name)), 1e-14) << step << ": " << name;
    bool stale = false;  // the step does leave something
    for (const auto& [name, g] : a.gradients) stale |= max_difference(g, b.gradients.at(name)) > 0;
    EXPECT_EQ(stale, step > 0);
  }
}

// One weight for q, k and v: the same loss, and the same gradients in one piece.
TEST(Model, packed_qkv_changes_no_result) {
  for (const ModelConfig& model : {llama_like(), gpt2_like()}) {
    TrainingSpec spec = one_rank(model);
    const Batch batch = make_batch(model, false);
    Training split(spec, batch);
    const StepResult want = split.step(initial_values(split.parameters()));
    spec.style.pack_qkv = true;
    Training packed(spec, batch);
    Tensors at = initial_values(split.parameters());
    const auto pack = [&](const Tensors& from, const Parameter& p) {
      Tensor all{p.type.shape, {}};
      for (const Parameter& part : p.parts)
        all.v.insert(all.v.end(), from.at(part.name).v.begin(), from.at(part.name).v.end());
      return all;
    };
    int packs = 0;
    for (const Parameter& p : packed.parameters())
      if (!p.parts.empty()) at[p.name] = pack(at, p), ++packs;
    EXPECT_GE(packs, 2);
    const StepResult got = packed.step(at);
    EXPECT_NEAR(got.loss, want.loss, 1e-14);
    EXPECT_NEAR(got.norm, want.norm, 1e-13);
    for (const Parameter& p : packed.parameters())
      EXPECT_LT(max_difference(got.gradients.at(p.name),
                               p.parts.empty() ? want.gradients.at(p.name) : pack(want.gradients, p)),
                1e-14)
          << p.name;
  }
}

TEST(Model, initial_values_do_not_depend_on_the_layout) {
  for (const ModelConfig& model : {llama_like(), gpt2_like()}) {
    const TrainingGraph one = build_training(one_rank(model));
    for (const Mesh& mesh : {make_mesh({1, 1, 2, 2}), make_mesh({2, 1, 2, 1})}) {
      if (model.num_query_groups == 4 && mesh.n(groups::query_heads) > 1) continue;
      const TrainingGraph t = build_training({.model = model, .mesh = mesh, .style = {true}});
      for (size_t i = 0; i < t.parameters.size(); ++i) {
        auto whole_of = [](const Parameter& p, const Mesh& m) {
          Blocks blocks;
          for (int r = 0; r < m.num_ranks(); ++r) {
            std::vector<float> v(size_t(local_type(m, p.type).elements()));
            init_parameter(p, m, m.coord(r), 42, v.data());
            blocks.emplace_back(v.begin(), v.end());
          }
          return assemble(m, p.type, blocks);
        };
        const Parameter &p = t.parameters[i], &q = one.parameters[i];
        Tensor a = whole_of(p, mesh), b = whole_of(q, Mesh{});
        const size_t real = b.v.size();
        for (size_t k = real; k < a.v.size(); ++k) EXPECT_EQ(a.v[k], 0) << p.name << ": padding";
        a.v.resize(real), a.shape = b.shape;
        EXPECT_EQ(max_difference(a, b), 0) << p.name;
      }
    }
  }
}

}  // namespace megalith::harness
