#include "ckpt/hf/hf_weights.h"

#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "ckpt/hf/hf_mapping.h"
#include "ckpt/tensors/mapped_tensors.h"
#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

using Weights = std::map<std::string, std::pair<Shape, std::vector<float>>>;

// All tensors of a reader, as f32.
Weights read_all(const TensorReader& reader) {
  Weights w;
  for (std::size_t i = 0; i < reader.tensors().size(); ++i) {
    const TensorSpec& t = reader.tensors()[i];
    std::vector<float> values(std::size_t(count(t.shape)));
    reader.read_range_as(i, 0, count(t.shape), DType::f32, std::as_writable_bytes(std::span(values)).data());
    w[t.name] = {t.shape, std::move(values)};
  }
  return w;
}
Weights import_hf(const std::string& dir, const HfConfig& config) {
  return read_all(*read_hf_weights(TensorFiles::open_directory(dir), config));
}

// The weights as a set of tensors.
class MemoryTensors final : public TensorReader {
 public:
  explicit MemoryTensors(const Weights& w) : TensorReader("memory"), weights_(w) {
    for (const auto& [name, t] : w) add({name, DType::f32, t.first});
  }

 private:
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override {
    std::memcpy(out, weights_.at(tensors()[tensor].name).second.data() + begin, std::size_t(n) * sizeof(float));
  }
  const Weights& weights_;
};
std::shared_ptr<const TensorReader> from(const Weights& w) { return std::make_shared<MemoryTensors>(w); }

// Unique values for all elements of a model.
Weights numbered(const HfMapping& mapping) {
  Weights w;
  float next = 1;
  for (const NamedShape& t : mapping.ours) {
    std::vector<float> v(std::size_t(count(t.shape)));
    std::iota(v.begin(), v.end(), next);
    next += float(v.size());
    w[t.name] = {t.shape, v};
  }
  return w;
}

HfConfig small_llama() {
  const char* text = R"({"model_type":"llama","hidden_size":8,"intermediate_size":12,"num_hidden_layers":2,
                         "num_attention_heads":4,"num_key_value_heads":2,"vocab_size":5})";
  return parse_hf_config(text, "llama");
}

TEST(HfWeights, fixtures_survive_bit_by_bit) {
  TempDir dir;
  int number = 0;
  for (const std::string& model : all_fixtures()) {
    const HfConfig config = read_hf_config(model);
    const Weights w = import_hf(model, config);
    const std::string copy = dir / std::to_string(number++);
    export_hf(copy, config, from(w));
    EXPECT_EQ(slurp(copy + "/model.safetensors"), slurp(model + "/model.safetensors")) << model;
    EXPECT_TRUE(read_hf_config(copy).model == config.model) << model;
  }
}

TEST(HfWeights, maps_gradients_like_weights) {
  for (const std::string& model : all_fixtures()) {
    const HfConfig config = read_hf_config(model);
    const TensorFiles golden = TensorFiles::open_file(model + "/golden.safetensors");
    const HfMapping mapping = hf_parameter_mapping(*config.family, config.model);
    const auto gradients = read_hf_files(golden, [](const TensorInfo& t) { return t.name.starts_with("grad."); });
    const auto spell = [&](const std::string& n) {
      for (const std::string& spelling : spellings(mapping, n))
        if (gradients->find("grad." + spelling)) return "grad." + spelling;
      return n;
    };
    const Weights g = read_all(MappedTensors(gradients, mapping, MapTo::ours, {.spell = spell}));
    EXPECT_EQ(g.size(), mapping.ours.size()) << model;
  }
}

// The vectors give Megatron's row order of fused weights, which is Falcon's; llama has separate ones.
TEST(HfWeights, head_order_agrees_with_the_vectors) {
  for (const std::string& path : golden_vectors("qkv_interleave.json"))
    for (const auto& c : nlohmann::json::parse(slurp(path))) {
      ModelConfig m = small_llama().model;
      m.num_layers = 1, m.hidden_size = 1;
      m.num_attention_heads = c["heads"], m.num_query_groups = c["groups"], m.kv_channels = c["head_dim"];
      const auto order = c["permutation"].get<std::vector<float>>();
      const HfMapping separate = hf_mapping(hf_family("llama"), m);
      const i64 q = m.num_attention_heads * m.kv_channels, k = m.num_query_groups * m.kv_channels;
      std::vector<float> rows(std::size_t(q + 2 * k));
      std::iota(rows.begin(), rows.end(), 0.0f);
      Weights theirs;
      for (const NamedShape& t : separate.theirs) {
        const i64 first = t.name.ends_with("q_proj.weight")   ? 0
                          : t.name.ends_with("k_proj.weight") ? q
                          : t.name.ends_with("v_proj.weight") ? q + k
                                                              : -1;
        const auto n = std::size_t(count(t.shape));
        const auto begin = rows.begin() + std::ptrdiff_t(std::max<i64>(0, first));
        theirs[t.name] = {
            t.shape, first < 0 ? std::vector<float>(n, -1.0f) : std::vector<float>(begin, begin + std::ptrdiff_t(n))};
      }
      const Weights w = read_all(MappedTensors(from(theirs), separate, MapTo::ours, {}));
      const HfMapping fused = hf_mapping(hf_family("falcon"), m);
      std::vector<float> result(rows.size());
      for (const TensorLink& link : fused.links)
        if (fused.theirs[link.theirs].name.ends_with("query_key_value.weight"))
          pack(link.block, DType::f32, w.at(fused.ours[link.ours].name).second.data(),
               reinterpret_cast<std::byte*>(result.data()));
      EXPECT_EQ(result, order) << c["heads"];
    }
}

// One element of a tensor of ours, and its position in the family's files.
struct Element {
  const char* ours;
  i64 index;
  const char* theirs;
  i64 their_index;
};

// In the second layer, by each family's own rule.
std::vector<Element> elements(const std::string& family, const ModelConfig& m) {
  const i64 h = m.hidden_size, d = m.kv_channels, f = m.ffn_hidden_size;
  const i64 group = 1, j = 3, i = 7;  // head or group, row in it, column
  const i64 row = (group * d + j) * h + i,
            query = ((group * 2 + 1) * d + j) * h + i;  // [g,d,h]; [g,2,d,h], second head
  if (family == "gpt2")
    return {
        {"self_attention.linear_q.weight", row, "transformer.h.1.attn.c_attn.weight", i * 3 * h + group * d + j},
        {"self_attention.linear_k.weight", row, "transformer.h.1.attn.c_attn.weight", i * 3 * h + h + group * d + j},
        {"self_attention.linear_v.weight", row, "transformer.h.1.attn.c_attn.weight",
         i * 3 * h + 2 * h + group * d + j},
        {"self_attention.linear_v.bias", group * d + j, "transformer.h.1.attn.c_attn.bias", 2 * h + group * d + j},
        {"self_attention.linear_proj.weight", j * h + i, "transformer.h.1.attn.c_proj.weight", i * h + j},
        {"mlp.linear_fc1.weight", j * h + i, "transformer.h.1.mlp.c_fc.weight", i * f + j},
        {"mlp.linear_fc2.weight", j * f + i, "transformer.h.1.mlp.c_proj.weight", i * h + j},
    };
  if (family == "llama")
    return {
        {"self_attention.linear_q.weight", query, "model.layers.1.self_attn.q_proj.weight", (3 * d + j) * h + i},
        {"self_attention.linear_k.weight", row, "model.layers.1.self_attn.k_proj.weight", row},
        {"mlp.linear_fc1.weight", j * h + i, "model.layers.1.mlp.gate_proj.weight", j * h + i},
        {"mlp.linear_fc1.weight", f * h + j * h + i, "model.layers.1.mlp.up_proj.weight", j * h + i},
        {"pre_mlp_layernorm.weight", j, "model.layers.1.post_attention_layernorm.weight", j},
    };
  if (family == "qwen2")
    return {
        {"self_attention.linear_q.bias", (group * 2 + 1) * d + j, "model.layers.1.self_attn.q_proj.bias", 3 * d + j},
    };
  if (family == "qwen3")
    return {
        {"self_attention.k_layernorm.weight", j, "model.layers.1.self_attn.k_norm.weight", j},
    };
  if (family == "gpt_neox")
    return {
        {"self_attention.linear_k.weight", row, "gpt_neox.layers.1.attention.query_key_value.weight",
         ((group * 3 + 1) * d + j) * h + i},
        {"self_attention.linear_v.bias", group * d + j, "gpt_neox.layers.1.attention.query_key_value.bias",
         (group * 3 + 2) * d + j},
    };
  if (family == "bloom_alibi")
    return {
        {"self_attention.linear_q.weight", row, "transformer.h.1.self_attention.query_key_value.weight",
         (group * 3 * d + j) * h + i},
    };
  if (family == "falcon")
    return {
        {"self_attention.linear_q.weight", query, "transformer.h.1.self_attention.query_key_value.weight",
         ((group * 4 + 1) * d + j) * h + i},
        {"self_attention.linear_v.weight", row, "transformer.h.1.self_attention.query_key_value.weight",
         ((group * 4 + 3) * d + j) * h + i},
        {"input_layernorm.weight", j, "transformer.h.1.ln_attn.weight", j},
        {"pre_mlp_layernorm.bias", j, "transformer.h.1.ln_mlp.bias", j},
    };
  return {};
}

// Round trips cannot detect two exchanged parts. This test does.
TEST(HfWeights, elements_are_where_each_family_keeps_them) {
  for (const char* family : kGoldenModels)
    for (const std::string& model : golden_models(family)) {
      const HfConfig config = read_hf_config(model);
      ModelConfig sizes = config.model;
      sizes.resolve();
      const Weights w = import_hf(model, config);
      const TensorFiles files = TensorFiles::open_directory(model);
      for (const Element& e : elements(family, sizes))
        EXPECT_EQ(w.at(std::string("decoder.layers.1.") + e.ours).second.at(std::size_t(e.index)),
                  files.read_f32(e.theirs).at(std::size_t(e.their_index)))
            << model << " " << e.ours << " from " << e.theirs;
    }
}

// Every element of every tensor of a file is linked to exactly one of ours. All families and variants are tested.
TEST(HfWeights, links_cover_everything_once) {
  for (
      const char* text :
      {R"({"model_type":"gpt2","n_embd":8,"n_layer":2,"n_head":2,"vocab_size":5,"n_positions":3})",
       R"({"model_type":"llama","hidden_size":8,"intermediate_size":12,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"vocab_size":5,"attention_bias":true,"mlp_bias":true})",
       R"({"model_type":"qwen3","hidden_size":8,"intermediate_size":12,"num_hidden_layers":2,"num_attention_heads":3,"num_key_value_heads":1,"vocab_size":5,"head_dim":6})",
       R"({"model_type":"gpt_neox","hidden_size":6,"intermediate_size":7,"num_hidden_layers":1,"num_attention_heads":3,"vocab_size":5})",
       R"({"model_type":"bloom","hidden_size":6,"n_layer":1,"n_head":3,"vocab_size":5})",
       R"({"model_type":"falcon","hidden_size":6,"num_hidden_layers":1,"num_attention_heads":3,"vocab_size":5})",
       R"({"model_type":"falcon","hidden_size":6,"num_hidden_layers":1,"num_attention_heads":3,"vocab_size":5,"multi_query":false,"parallel_attn":false,"bias":true})",
       R"({"model_type":"falcon","hidden_size":8,"num_hidden_layers":1,"num_attention_heads":4,"num_kv_heads":2,"vocab_size":5,"new_decoder_architecture":true,"bias":true})"}) {
    const HfConfig config = parse_hf_config(text, text);
    const HfMapping mapping = hf_mapping(*config.family, config.model);
    const Weights w = numbered(mapping);
    std::map<float, int> seen;
    std::vector<std::vector<float>> files;
    for (const NamedShape& t : mapping.theirs) files.emplace_back(std::size_t(count(t.shape)), 0.0f);
    for (const TensorLink& link : mapping.links)
      pack(link.block, DType::f32, w.at(mapping.ours[link.ours].name).second.data(),
           reinterpret_cast<std::byte*>(files[link.theirs].data()));
    for (const auto& f : files)
      for (const float v : f) ++seen[v];
    i64 elements = 0;
    for (const NamedShape& t : mapping.ours) elements += count(t.shape);
    EXPECT_EQ(i64(seen.size()), elements) << text;
    EXPECT_FALSE(seen.contains(0)) << text;
  }
}

// Writes a directory whose tensors are `w` under HF names changed by `rename` ("" drops the tensor), plus `extra`.
template <class F>
void write_renamed(const std::string& dir, const HfConfig& config, const Weights& w, F&& rename,
                   std::vector<TensorSpec> extra = {}) {
  export_hf(dir, config, from(w));
  std::vector<std::pair<TensorSpec, std::vector<std::byte>>> all;
  {
    const TensorFiles files = TensorFiles::open_directory(dir);
    for (const TensorInfo& t : files.tensors()) {
      if (const std::string name = rename(t.name); !name.empty())
        all.push_back({{name, t.dtype(), t.shape}, files.read(t)});
    }
  }
  for (const TensorSpec& t : extra)
    all.push_back({t, std::vector<std::byte>(std::size_t(count(t.shape) * size_of(t.dtype)))});
  std::vector<TensorSpec> specs;
  for (const auto& [spec, bytes] : all) specs.push_back(spec);
  SafetensorsWriter writer(dir + "/model.safetensors", specs);
  for (const TensorSpec& t : writer.tensors())
    for (const auto& [spec, bytes] : all)
      if (spec.name == t.name) writer.write(bytes);
  writer.finish();
}

TEST(HfWeights, takes_files_without_prefix_and_with_buffers) {
  TempDir dir;
  const HfConfig config = parse_hf_config(
      R"({"model_type":"gpt2","n_embd":8,"n_layer":2,"n_head":2,"vocab_size":5,"n_positions":3})", "gpt2");
  const Weights w = numbered(hf_mapping(*config.family, config.model));
  const auto strip = [](const std::string& name) { return name.substr(std::string("transformer.").size()); };
  write_renamed(dir / "m", config, w, strip,
                {{"h.0.attn.bias", DType::u8, {1, 1, 3, 3}}, {"h.1.attn.masked_bias", DType::f32, {}}});
  EXPECT_EQ(import_hf(dir / "m", config), w);
}

TEST(HfWeights, lists_missing_misshapen_and_unexpected_tensors) {
  TempDir dir;
  const HfConfig config = small_llama();
  const Weights w = numbered(hf_mapping(*config.family, config.model));
  write_renamed(dir / "m", config, w, [](const std::string& name) { return name == "model.norm.weight" ? "" : name; },
                {{"model.layers.0.mystery.weight", DType::f32, {7}}});
  HfConfig wider = read_hf_config(dir / "m");
  wider.model.vocab_size = 6;
  const std::string message = error_of([&] { (void)import_hf(dir / "m", wider); });
  EXPECT_NE(message.find("1 tensors missing, 2 of another shape, 1 unexpected"), std::string::npos) << message;
  EXPECT_NE(message.find("model.embed_tokens.weight"), std::string::npos) << message;
  EXPECT_NE(message.find("[6, 8]"), std::string::npos) << message;
  EXPECT_NE(message.find("model.layers.0.mystery.weight"), std::string::npos) << message;
}

TEST(HfWeights, a_model_without_a_head_is_tied_and_a_stray_head_is_not_lost) {
  TempDir dir;
  HfConfig config = small_llama();
  const Weights w = numbered(hf_mapping(*config.family, config.model));
  write_renamed(dir / "headless", config, w, [](const std::string& n) { return n == "lm_head.weight" ? "" : n; });
  EXPECT_TRUE(read_hf_config(dir / "headless").model.untie_embeddings_and_output_weights);
  expect_error([&] { (void)import_hf(dir / "headless", read_hf_config(dir / "headless")); }, "lm_head.weight");
  for (const char* other : {"LlamaModel", ""}) {  // a class without a head, or none
    auto json = nlohmann::json::parse(slurp(dir / "headless/config.json"));
    json["architectures"] = {other};
    if (*other == 0) json.erase("architectures");
    spit(dir / "headless/config.json", json.dump());
    EXPECT_FALSE(read_hf_config(dir / "headless").model.untie_embeddings_and_output_weights) << other;
  }
  export_hf(dir / "both", config, from(w));
  config.model.untie_embeddings_and_output_weights = false;
  expect_error([&] { (void)import_hf(dir / "both", config); }, "lm_head.weight differs from model.embed_tokens.weight");
  Weights same = w;
  same["output_layer.weight"] = same["embedding.word_embeddings.weight"];
  export_hf(dir / "same", small_llama(), from(same));
  EXPECT_NO_THROW((void)import_hf(dir / "same", config));
}

TEST(HfWeights, shards_and_rounds) {
  TempDir dir;
  const HfConfig config = small_llama();
  const Weights w = numbered(hf_mapping(*config.family, config.model));  // numbers above 256 round
  export_hf(dir / "m", config, from(w), {.type = DType::bf16, .max_shard_bytes = 500});
  EXPECT_FALSE(fs::exists(dir / "m/model.safetensors"));
  const TensorFiles files = TensorFiles::open_directory(dir / "m");
  const auto index = nlohmann::json::parse(slurp(dir / "m/model.safetensors.index.json"));
  i64 total = 0, largest = 0;
  std::map<std::string, i64> sizes;
  for (const TensorInfo& t : files.tensors()) {
    total += t.bytes, sizes[t.file] += t.bytes, largest = std::max(largest, t.bytes);
    EXPECT_EQ(dir / "m/" + index["weight_map"][t.name].get<std::string>(), t.file);
  }
  EXPECT_EQ(index["metadata"]["total_size"], total);
  EXPECT_GT(sizes.size(), 2u);
  for (const auto& [file, bytes] : sizes) EXPECT_LE(bytes, std::max<i64>(500, largest)) << file;
  const Weights read = import_hf(dir / "m", read_hf_config(dir / "m"));
  for (const auto& [name, tensor] : w)
    for (std::size_t i = 0; i < tensor.second.size(); ++i)
      ASSERT_EQ(read.at(name).second[i], float(bf16(tensor.second[i])));
}

TEST(HfWeights, never_writes_over_a_model) {
  TempDir dir;
  const HfConfig config = small_llama();
  const Weights w = numbered(hf_mapping(*config.family, config.model));
  export_hf(dir.path(), config, from(w));
  expect_error([&] { (void)export_hf(dir.path(), config, from(w)); }, "already holds");
}

// An export that stops before its last step can be repeated.
TEST(HfWeights, files_get_their_names_when_all_are_whole) {
  TempDir dir;
  const HfConfig config = small_llama();
  const Weights w = numbered(hf_mapping(*config.family, config.model));
  const std::string mark = ".tmp-" + std::to_string(::getpid());
  HfExportOptions options{.max_shard_bytes = 500};
  std::set<std::string> parts;
  options.before_config = [&] { parts = names_in(dir.path()), fail("the disk is full"); };
  expect_error([&] { export_hf(dir.path(), config, from(w), options); }, "the disk is full");
  EXPECT_GT(parts.size(), 4u);
  for (const std::string& part : parts) EXPECT_TRUE(part.ends_with(mark)) << part;
  EXPECT_TRUE(parts.contains("config.json" + mark) && parts.contains("model.safetensors.index.json" + mark));
  EXPECT_TRUE(names_in(dir.path()).empty());
  for (const char* name : {"config.json", "model-00001-of-00009.safetensors", "model.safetensors.index.json"})
    spit(dir / std::string(name) + ".tmp-7", "of one that was killed");
  spit(dir / "mine.tmp-7", "x");
  options.before_config = [] {};
  export_hf(dir.path(), config, from(w), options);
  std::set<std::string> whole = {"mine.tmp-7"};
  for (const std::string& part : parts) whole.insert(part.substr(0, part.size() - mark.size()));
  EXPECT_EQ(names_in(dir.path()), whole);
}

}  // namespace
}  // namespace megalith
