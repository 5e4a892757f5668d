#include "calibrate/model_case.h"

#include <fmt/format.h>

namespace megalith {

namespace {

using Recipe = QuantizeConfig::Recipe;

QuantizeConfig config_of(std::optional<Recipe> fp8) {
  return fp8 ? QuantizeConfig{.format = QuantizeConfig::Format::hybrid, .recipe = *fp8} : QuantizeConfig{};
}

ModelCase in_fp8(ModelCase model, Recipe recipe) {
  model.fp8 = recipe;
  return model;
}

}  // namespace

std::string ModelCase::name() const {
  const std::string mixture = experts ? fmt::format(", {} experts of {}, {} a token", experts, expert_ffn, topk) : "";
  const std::string codes = fp8 ? fmt::format(", fp8 {}", name_of_recipe(config_of(fp8))) : "";
  return fmt::format("{} {} layers of {}, heads {}/{}, ffn {}{}, vocabulary {}, {} x {} {}{}", llama ? "llama" : "gpt",
                     layers, hidden, heads, kv, ffn, mixture, vocab, batch, seq, name_of(dtype), codes);
}

ModelConfig ModelCase::config() const {
  ModelConfig m;
  m.num_layers = layers, m.hidden_size = hidden, m.ffn_hidden_size = ffn;
  m.num_attention_heads = heads, m.num_query_groups = kv;
  m.seq_length = seq, m.max_position_embeddings = std::max<i64>(seq, 1024), m.vocab_size = vocab;
  if (llama) {
    m.position_embedding_type = PositionEmbedding::rope, m.normalization = Normalization::rms_norm;
    m.activation = Activation::swiglu, m.add_bias_linear = false, m.untie_embeddings_and_output_weights = true;
  }
  m.moe.num_experts = experts, m.moe.ffn_hidden_size = expert_ffn;
  if (experts) m.moe.router_topk = topk;
  m.resolve();
  return m;
}

StepSpec ModelCase::spec() const {
  StepSpec s;
  // Runs in fp8 have no packed weight of q, k and v (settings/schedules.cpp).
  s.model = std::make_shared<Gpt>(config(), ParallelStyle{.pack_qkv = !fp8});
  s.optimizer.lr = 1e-4, s.optimizer.weight_decay = 0.1;
  s.mode.batch = batch, s.mode.precision = computing_in(dtype);
  s.quantize = {config_of(fp8), layers};
  return s;
}

static std::vector<ModelCase> timed_on_cpu() {
  return {
      {false, 2, 512, 0, 8, 0, 16384, 256, 2, DType::f32},    {true, 2, 512, 1536, 8, 4, 16384, 512, 1, DType::f32},
      {false, 2, 512, 0, 8, 0, 16384, 256, 2, DType::bf16},   {true, 2, 512, 1536, 8, 4, 16384, 512, 1, DType::bf16},
      {false, 1, 1024, 0, 16, 0, 32768, 128, 4, DType::f32},  {true, 1, 1024, 2816, 16, 8, 8192, 128, 4, DType::f32},
      {false, 1, 1024, 0, 16, 0, 32768, 128, 4, DType::bf16}, {true, 1, 1024, 2816, 16, 8, 8192, 128, 4, DType::bf16}};
}

std::vector<ModelCase> timed_cases(bool gpu, bool codes) {
  if (!gpu) return timed_on_cpu();
  const ModelCase wide{true, 2, 3584, 12288, 28, 7, 100352, 8192, 2},
      wider{true, 2, 5120, 13824, 40, 8, 120064, 8192, 2}, narrow{true, 4, 1536, 6144, 24, 6, 120064, 4096, 4},
      gpt{false, 4, 1792, 0, 28, 0, 51200, 1024, 16};
  std::vector<ModelCase> out = {wide,
                                wider,
                                {false, 4, 896, 0, 14, 0, 40960, 1024, 64},
                                {false, 4, 1280, 0, 20, 0, 51200, 1024, 32},
                                {true, 2, 2560, 9216, 40, 8, 100352, 4096, 4},
                                narrow,
                                gpt};
  const auto add_codes = [&](const ModelCase& model) {
    if (!codes) return;
    for (const Recipe r : {Recipe::delayed, Recipe::blockwise, Recipe::tensorwise}) out.push_back(in_fp8(model, r));
  };
  const auto add = [&](const std::vector<ModelCase>& more) { out.insert(out.end(), more.begin(), more.end()); };
  add_codes(wide), add_codes(narrow);
  add({{false, 4, 640, 0, 10, 0, 51200, 1024, 64},
       {false, 4, 1152, 0, 18, 0, 40960, 512, 32},
       {true, 2, 3072, 8192, 24, 8, 120064, 8192, 1}});
  add_codes(wider), add_codes(gpt);
  add({{true, 2, 4608, 18432, 36, 9, 32000, 4096, 4},
       {true, 2, 2304, 6144, 18, 6, 64000, 2048, 4},
       {false, 2, 512, 0, 8, 0, 32768, 512, 16},
       {true, 2, 1024, 2816, 16, 4, 32000, 2048, 8},
       {true, 2, 6144, 16384, 48, 8, 32000, 2048, 2},
       {false, 2, 768, 0, 12, 0, 32768, 512, 8, DType::f32}});
  if (codes) {
    const ModelCase wide_experts{true, 2, 3584, 12288, 28, 7, 32000, 4096, 4, DType::bf16, 8, 2, 12288};
    out.push_back(in_fp8(wide_experts, Recipe::delayed));
    out.push_back(in_fp8(mixture_cases(gpu).back(), Recipe::delayed));
  }
  return out;
}

std::vector<ModelCase> mixture_cases(bool gpu) {
  if (!gpu)
    return {{true, 2, 256, 512, 4, 2, 4096, 256, 2, DType::f32, 8, 2, 256},
            {true, 2, 256, 512, 4, 2, 4096, 256, 2, DType::bf16, 8, 2, 256}};
  return {{true, 2, 2560, 6144, 20, 4, 32000, 4096, 2, DType::bf16, 64, 6, 1024},
          {true, 2, 1536, 4096, 12, 4, 64000, 4096, 4, DType::bf16, 32, 8, 512}};
}

std::vector<ModelCase> planned_cases(bool codes) {
  const ModelCase llama_1b{true, 16, 2048, 8192, 32, 8, 128256, 4096, 4},
      llama_8b{true, 8, 4096, 14336, 32, 8, 128256, 8192, 2};
  std::vector<ModelCase> out = {{false, 12, 768, 0, 12, 0, 50257, 1024, 64},
                                {false, 24, 1024, 0, 16, 0, 50257, 1024, 32},
                                {false, 48, 1600, 0, 25, 0, 50257, 1024, 16},
                                llama_1b,
                                llama_8b,
                                {true, 32, 4096, 14336, 32, 8, 128256, 8192, 1},
                                {true, 32, 4096, 11008, 32, 32, 32000, 4096, 1},
                                {false, 12, 768, 0, 12, 0, 50257, 1024, 8},
                                {false, 36, 1280, 0, 20, 0, 50257, 1024, 8}};
  // Products of the recipe tensorwise are those of delayed.
  for (const ModelCase& model : {llama_1b, llama_8b})
    for (const Recipe r : {Recipe::delayed, Recipe::blockwise})
      if (codes) out.push_back(in_fp8(model, r));
  return out;
}

}  // namespace megalith
