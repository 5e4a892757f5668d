// Hugging Face files of experts: each of hundreds of tensors occurs once, in complete files.
#include <algorithm>

#include "ckpt/hf/hf_weights.h"
#include "tests/ckpt/small_models.h"

namespace megalith {
namespace {

constexpr const char* kConfig =
    R"({"model_type":"qwen3_moe","hidden_size":8,"intermediate_size":12,"num_hidden_layers":2,"num_attention_heads":2,
        "num_key_value_heads":2,"head_dim":4,"moe_intermediate_size":6,"num_experts":4,"num_experts_per_tok":2,
        "norm_topk_prob":true,"vocab_size":5,"tie_word_embeddings":false})";

std::shared_ptr<const TensorReader> read(const std::string& dir) {
  const TensorFiles files = TensorFiles::open_directory(dir);
  return read_hf_weights(files, read_hf_config(dir));
}

void refused(const std::function<void(std::vector<Stored>&)>& edit, const std::string& message) {
  TempDir dir;
  std::vector<Stored> tensors = small_tensors(kConfig);
  edit(tensors);
  write_model(dir.path(), small_config(kConfig), tensors);
  expect_error([&] { read(dir.path()); }, message);
}

auto named(std::vector<Stored>& tensors, const std::string& name) {
  return std::ranges::find_if(tensors, [&](const Stored& t) { return t.spec.name == name; });
}

// Writes several files; returns their folder.
std::string write_shards(const TempDir& dir) {
  write_model(dir / "whole", small_config(kConfig), small_tensors(kConfig));
  export_hf(dir / "shards", read_hf_config(dir / "whole"), read(dir / "whole"), {.max_shard_bytes = 1500});
  return dir / "shards";
}

}  // namespace

TEST(ExpertFiles, account_for_every_tensor) {
  const std::string expert = "model.layers.1.mlp.experts.3.down_proj.weight";
  refused([&](auto& t) { t.erase(named(t, expert)); },
          "1 tensors missing, 0 of another shape, 0 unexpected (" + expert + ": ");
  refused(
      [&](auto& t) {
        t.push_back(
            {{"model.layers.1.mlp.experts.4.down_proj.weight", DType::f32, {8, 6}}, std::vector<std::byte>(192)});
      },
      "0 tensors missing, 0 of another shape, 1 unexpected (model.layers.1.mlp.experts.4.down_proj.weight: ");
  refused([&](auto& t) { named(t, expert)->spec.shape = {6, 8}; }, "0 tensors missing, 1 of another shape");
  refused([&](auto& t) { t.erase(named(t, "model.layers.0.mlp.gate.weight")); }, "1 tensors missing");
}

TEST(ExpertFiles, that_are_cut_short_or_missing_are_refused) {
  TempDir dir;
  const std::string shards = write_shards(dir);
  EXPECT_EQ(read(shards)->tensors().size(), read(dir / "whole")->tensors().size());
  const std::set<std::string> names = names_in(shards);
  ASSERT_GT(names.size(), 5u);
  const std::string name = *std::next(names.begin(), 3), file = shards + "/" + name, bytes = slurp(file);
  ASSERT_TRUE(name.starts_with("model-0000")) << name;
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    spit(file, bytes.substr(0, size));
    expect_error([&] { read(shards); }, name + " is truncated");
  }
  fs::remove(file);
  expect_error([&] { read(shards); }, "lists " + name + ", which is missing");
}

// After an interrupted write there is no config.json, and its files have no final names.
TEST(ExpertFiles, of_an_interrupted_export_are_no_model) {
  TempDir dir;
  const std::size_t whole = names_in(write_shards(dir)).size();
  HfExportOptions options{.max_shard_bytes = 1500};
  options.before_config = [&] {
    for (const std::string& name : names_in(dir / "half")) fs::copy(dir / ("half/" + name), dir / ("kept/" + name));
    fail("the power is gone");
  };
  fs::create_directories(dir / "kept");
  expect_error([&] { export_hf(dir / "half", read_hf_config(dir / "whole"), read(dir / "whole"), options); },
               "the power is gone");
  EXPECT_EQ(names_in(dir / "kept").size(), whole);
  expect_error([&] { read(dir / "kept"); }, "kept has neither model.safetensors nor model.safetensors.index.json");
  EXPECT_FALSE(is_hf_directory(dir / "kept"));
}

}  // namespace megalith
