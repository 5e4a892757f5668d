// Conversions between all formats, compared bit by bit, and by PyTorch and transformers if they are installed.
#include "ckpt/convert.h"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "ckpt/native/save_lock.h"
#include "ckpt/tensors/safetensors.h"
#include "ckpt/torch/megatron_save.h"
#include "ckpt/torch/torch_dist.h"
#include "mesh/block_copy.h"
#include "tests/ckpt/small_models.h"
#include "tests/ckpt/small_state.h"
#include "tests/ckpt/torch/python.h"
#include "tests/ckpt/torch/sha256.h"

namespace megalith {
namespace {

// The tree's golden models, and all of ../shared, some of which are not GPTs.
std::vector<std::string> all_models() {
  std::vector<std::string> all = all_fixtures();
  for (const char* more : {"bert", "deepseek_v3", "megatron_bert", "mixtral", "qwen3_moe", "t5_v10", "t5_v11"})
    if (fs::exists(shared_model(more))) all.push_back(shared_model(more));
  return all;
}

std::vector<std::byte> read_all(const TensorReader& reader, std::size_t i) {
  const TensorSpec& t = reader.tensors()[i];
  std::vector<std::byte> bytes(std::size_t(count(t.shape) * size_of(t.dtype)));
  reader.read_range(i, 0, count(t.shape), bytes.data());
  return bytes;
}

void convert(const std::string& from, CkptFormat to, const std::string& dir, const ConvertOptions& options = {}) {
  convert_checkpoint(open_any_checkpoint(from), to, dir, options);
}

// Compares every tensor of two sets, by name.
void expect_same(const TensorReader& a, const TensorReader& b, const std::string& what) {
  EXPECT_EQ(a.tensors().size(), b.tensors().size()) << what;
  for (std::size_t i = 0; i < a.tensors().size(); ++i) {
    const TensorSpec& t = a.tensors()[i];
    const auto k = b.find(t.name);
    ASSERT_TRUE(k.has_value()) << what << " " << t.name;
    EXPECT_EQ(b.tensors()[*k].shape, t.shape) << what << " " << t.name;
    EXPECT_EQ(b.tensors()[*k].dtype, t.dtype) << what << " " << t.name;
    EXPECT_TRUE(read_all(a, i) == read_all(b, *k)) << what << " " << t.name;
  }
}

TEST(Convert, every_fixture_survives_native_and_torch_dist) {
  for (const std::string& name : all_models())
    for (const CkptFormat middle : {CkptFormat::native, CkptFormat::torch_dist}) {
      TempDir dir;
      convert(name, middle, dir / "middle");
      EXPECT_EQ(find_checkpoint(dir / "middle").value().format, middle) << name;
      convert(dir / "middle", CkptFormat::hf, dir / "back", {});
      EXPECT_TRUE(slurp(dir / "back/model.safetensors") == slurp(name + "/model.safetensors"))
          << name << " through " << name_of(middle);
      const auto config = [](const std::string& path) { return nlohmann::json::parse(slurp(path + "/config.json")); };
      EXPECT_EQ(config(dir / "back")["model_type"], config(name)["model_type"]);
      EXPECT_EQ(config(dir / "back")["architectures"], config(name)["architectures"]);
    }
}

TEST(Convert, shards_join_again) {
  TempDir dir;
  convert(fixture("qwen2"), CkptFormat::hf, dir / "shards", {.max_shard_bytes = 20000});
  EXPECT_FALSE(fs::exists(dir / "shards/model.safetensors"));
  convert(dir / "shards", CkptFormat::torch_dist, dir / "middle");
  convert(dir / "middle", CkptFormat::hf, dir / "back");
  EXPECT_TRUE(slurp(dir / "back/model.safetensors") == slurp(fixture("qwen2") + "/model.safetensors"));
}

// A run's checkpoint with weights, moments and settings, made from a fixture's weights.
std::string make_run(const TempDir& dir, const std::string& name) {
  const AnyCheckpoint model = open_any_checkpoint(fixture(name));
  auto config = nlohmann::ordered_json::parse(model.manifest.config_json);
  config["bf16"] = true, config["lr"] = 3e-4, config["adam_beta2"] = 0.95;
  const std::string state = R"({"schedule_samples": 70, "optimizer_steps": 9, "skipped_iterations": 1,
    "interval": {"losses": {}, "advanced": 0, "skipped": 0, "nan": 0}, "schedules": {"lr": 3e-4, "min_lr": 3e-5,
    "lr_decay_style": "cosine", "lr_decay_samples": 800, "lr_warmup_samples": 10, "lr_warmup_init": 0.0,
    "weight_decay_incr_style": "constant", "start_weight_decay": 0.1, "end_weight_decay": 0.1}})";
  std::vector<std::vector<std::byte>> values;
  std::vector<SaveTensor> tensors;
  float next = 0;
  for (const char* prefix : {"", "optimizer.exp_avg.", "optimizer.exp_avg_sq."})
    for (const TensorSpec& t : model.tensors->tensors()) {
      std::vector<float> v(std::size_t(count(t.shape)));
      for (float& x : v) x = next += 0.25f;
      const auto bytes = std::as_bytes(std::span(v));
      values.emplace_back(bytes.begin(), bytes.end());
      tensors.push_back({prefix + t.name, t.shape, DType::f32});
    }
  for (std::size_t i = 0; i < values.size(); ++i) tensors[i].data = values[i].data();
  save_checkpoint(dir / "run", {10, 80, config.dump(), state}, tensors);
  return dir / "run";
}

TEST(Convert, a_run_survives_torch_dist_with_its_moments) {
  for (const char* name : {"qwen2", "gpt2", "qwen3"}) {
    TempDir dir;
    const std::string run = make_run(dir, name);
    convert(run, CkptFormat::torch_dist, dir / "dist");
    convert(dir / "dist", CkptFormat::native, dir / "back");
    const AnyCheckpoint a = open_any_checkpoint(run), b = open_any_checkpoint(dir / "back");
    expect_same(*a.tensors, *b.tensors, name);
    EXPECT_EQ(b.manifest.iteration, 10);
    EXPECT_EQ(b.manifest.consumed_samples, 80);
    const auto json = [](const std::string& text) { return nlohmann::json::parse(text); };
    EXPECT_EQ(json(b.manifest.config_json), json(a.manifest.config_json));
    EXPECT_EQ(json(b.manifest.state_json), json(a.manifest.state_json));
    // Parameters are bf16, main values and moments f32.
    const TorchDist dist(dir / "dist/iter_0000010");
    const TensorReader& t = dist.tensors();
    EXPECT_EQ(t.tensors()[t.at("decoder.layers.mlp.linear_fc1.weight")].dtype, DType::bf16);
    EXPECT_EQ(t.tensors()[t.at("optimizer.state.exp_avg_sq.decoder.layers.mlp.linear_fc1.weight")].dtype, DType::f32);
    convert(run, CkptFormat::native, dir / "weights", {.with_optimizer = false});
    EXPECT_FALSE(open_any_checkpoint(dir / "weights").has_optimizer());
  }
}

// Examples of two tensor-parallel ranks, bf16 weights, master weights, no settings of ours.
TEST(Convert, reads_the_examples_of_torch_dist) {
  for (const std::string& example : golden_torch_dist()) {
    SCOPED_TRACE(example);
    const AnyCheckpoint c = open_any_checkpoint(example, {.vocab_size = 13});
    EXPECT_EQ(c.format, CkptFormat::torch_dist);
    ASSERT_TRUE(c.model.has_value());
    const TorchDist raw(example + "/iter_0000010");
    const auto has = [&](const char* name) { return raw.tensors().find(name).has_value(); };
    const std::size_t qkv = raw.tensors().at("optimizer.state.param.decoder.layers.self_attention.linear_qkv.weight");
    const i64 layers = raw.tensors().tensors()[qkv].shape[0];
    EXPECT_EQ(c.model->num_layers, layers);
    EXPECT_EQ(c.model->num_query_groups, 2);
    EXPECT_EQ(c.model->vocab_size, 13);
    EXPECT_EQ(c.model->activation, Activation::swiglu);
    EXPECT_EQ(c.model->normalization, Normalization::rms_norm);
    EXPECT_EQ(c.model->untie_embeddings_and_output_weights, has("output_layer.weight"));
    EXPECT_FALSE(c.model->add_bias_linear);
    EXPECT_EQ(c.manifest.iteration, 10);
    EXPECT_EQ(c.manifest.consumed_samples, 80);
    const auto state = nlohmann::json::parse(c.manifest.state_json);
    EXPECT_EQ(state["optimizer_steps"], 10);
    EXPECT_EQ(state["schedule_samples"], 80);
    EXPECT_EQ(state["schedules"]["lr_decay_style"], "cosine");
    // Rows of linear_qkv [g, r + 2, d, h]: group 1's key begins at row (1 * 4 + 2) * 2 of 16.
    const auto all = read_all(raw.tensors(), qkv);
    const std::string last = fmt::format("decoder.layers.{}.self_attention.linear_k.weight", layers - 1);
    const auto key = read_all(*c.tensors, c.tensors->at(last));
    ASSERT_EQ(key.size(), 2u * 2 * 8 * 4);
    const std::size_t group = 2 * 8 * 4;  // bytes of one group's key
    const std::size_t layer = std::size_t(layers - 1) * 16 * 8 * 4;
    EXPECT_EQ(std::memcmp(key.data() + group, all.data() + layer + 12 * 8 * 4, group), 0);
    EXPECT_TRUE(c.has_optimizer());
  }
}

TEST(Convert, pytorch_reads_our_torch_dist) {
  if (!python_has("torch, numpy")) GTEST_SKIP() << python() << " has no torch and numpy";
  TempDir dir;
  const std::string run = make_run(dir, "qwen2");
  convert(run, CkptFormat::torch_dist, dir / "dist");
  ASSERT_EQ(run_python("read_dcp.py", {dir / "dist/iter_0000010", dir / "found.json"}, dir / "log"), "");
  const auto found = nlohmann::json::parse(slurp(dir / "found.json"));
  const TorchDist dist(dir / "dist/iter_0000010");
  EXPECT_EQ(found["tensors"].size(), dist.tensors().tensors().size());
  for (std::size_t i = 0; i < dist.tensors().tensors().size(); ++i) {
    const TensorSpec& t = dist.tensors().tensors()[i];
    EXPECT_EQ(found["tensors"][t.name]["shape"], nlohmann::json(t.shape)) << t.name;
    EXPECT_EQ(found["tensors"][t.name]["sha256"], sha256(read_all(dist.tensors(), i))) << t.name;
  }
  EXPECT_EQ(found["common"]["iteration"], 10);
  EXPECT_EQ(found["common"]["num_query_groups"], 2);
  EXPECT_EQ(found["common"]["step"], 9);
  EXPECT_EQ(found["objects"], dist.objects().size());
}

// A run's state divided over three ranks, as by tensor and data parallelism. Each writes its own files; together they
// have the same tensors as one rank's files.
TEST(Convert, several_ranks_write_torch_dist) {
  for (const char* name : {"qwen2", "gpt2"}) {
    TempDir dir;
    const AnyCheckpoint run = open_any_checkpoint(make_run(dir, name));
    convert(run.path, CkptFormat::torch_dist, dir / "one");
    std::vector<std::vector<SaveTensor>> ranks(3);
    for (std::size_t i = 0; i < run.tensors->tensors().size(); ++i) {
      const TensorSpec& t = run.tensors->tensors()[i];
      const auto add = [&](int rank, const Shape& offset, const Shape& shape) {
        SaveTensor& out = ranks[std::size_t(rank)].emplace_back(SaveTensor{t.name, shape, DType::f32});
        out.global_shape = t.shape, out.offset = offset;
        out.fill = [&run, i, offset, shape](i64 begin, i64 n, std::byte* to) {
          std::vector<float> all(std::size_t(count(shape)));
          run.tensors->read_box_as(i, offset, shape, DType::f32, std::as_writable_bytes(std::span(all)));
          std::memcpy(to, all.data() + begin, std::size_t(n) * sizeof(float));
        };
      };
      // The first half along the dimension before the last, then ragged ranges of the rest.
      const std::size_t d = t.shape.size() < 2 ? 0 : t.shape.size() - 2;
      Shape half = t.shape, rest = t.shape, from(t.shape.size(), 0);
      half[d] /= 2, rest[d] -= half[d], from[d] = half[d];
      if (count(half) > 0) add(0, Shape(t.shape.size(), 0), half);
      const i64 cut = count(rest) * 3 / 7;
      for (const auto& [rank, begin, n] : {std::tuple(1, i64{0}, cut), {2, cut, count(rest) - cut}})
        for_boxes(rest, begin, n, [&, r = rank](const Shape& at, const Shape& box) {
          Shape offset = at;
          offset[d] += from[d];
          add(r, offset, box);
        });
    }
    std::vector<std::string> accounts;
    fs::create_directories(dir / "several/iter_0000010");
    std::vector<std::unique_ptr<PartWriter>> writers;
    for (int r = 0; r < 3; ++r) {
      writers.push_back(
          megatron_writer({run.manifest, *run.model, DType::bf16, true}, ranks[std::size_t(r)], r, {.writers = 2}));
      accounts.push_back(writers.back()->write(dir / "several/iter_0000010"));
    }
    writers[0]->describe(dir / "several/iter_0000010", accounts);
    EXPECT_TRUE(fs::exists(dir / "several/iter_0000010/__2_1.distcp"));
    const TorchDist one(dir / "one/iter_0000010"), several(dir / "several/iter_0000010");
    expect_same(one.tensors(), several.tensors(), name);
    if (!python_has("torch, numpy")) continue;
    ASSERT_EQ(run_python("read_dcp.py", {dir / "several/iter_0000010", dir / "found.json"}, dir / "log"), "");
    const auto found = nlohmann::json::parse(slurp(dir / "found.json"));
    for (std::size_t i = 0; i < one.tensors().tensors().size(); ++i)
      EXPECT_EQ(found["tensors"][one.tensors().tensors()[i].name]["sha256"], sha256(read_all(one.tensors(), i)));
  }
}

// Megatron's files of two tensor- and two pipeline-parallel ranks, written by PyTorch from the fixture's weights.
TEST(Convert, reads_torch_of_several_ranks) {
  if (!python_has("torch, numpy, safetensors")) GTEST_SKIP() << python() << " has no torch, numpy and safetensors";
  const std::pair<const char*, const char*> cases[] = {
      {"qwen2", "2,2,1"}, {"llama", "1,1,2"}, {"llama", "2,1,1"}, {"qwen2", "1,1,1"}};
  for (const auto& [name, shape] : cases) {
    TempDir dir;
    ASSERT_EQ(run_python("write_megatron.py", {fixture(name), dir / "torch", shape}, dir / "log"), "");
    convert(dir / "torch", CkptFormat::hf, dir / "back", {.family = name});
    EXPECT_TRUE(slurp(dir / "back/model.safetensors") == slurp(fixture(name) + "/model.safetensors"))
        << name << " " << shape;
  }
}

// A flipped bit or a truncation in any file gives one line of error, or does not affect the tensors.
void expect_no_silent_damage(const std::string& dir, const std::string& place, std::initializer_list<const char*> files,
                             int tries) {
  const auto load = [&] {
    const AnyCheckpoint c = open_any_checkpoint(dir);
    std::string all;
    for (std::size_t i = 0; i < c.tensors->tensors().size(); ++i)
      all += c.tensors->tensors()[i].name + sha256(read_all(*c.tensors, i));
    return all;
  };
  const std::string good = load();
  std::mt19937 random(5);
  for (const char* name : files) {
    const std::string path = place + "/" + name, text = slurp(path);
    int found = 0;
    for (int n = 0; n < tries; ++n) {
      std::string bad = text;
      if (n % 4 == 0)
        bad.resize(random() % bad.size());
      else
        bad[random() % bad.size()] ^= char(1 << random() % 8);
      spit(path, bad);
      try {
        EXPECT_TRUE(load() == good) << name << " try " << n;
      } catch (const Error& e) {
        EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
        ++found;
      }
    }
    EXPECT_GT(found, tries / 4) << name;
    spit(path, text);
  }
}

TEST(Convert, damage_to_torch_is_found) {
  if (!python_has("torch, numpy, safetensors")) GTEST_SKIP() << python() << " has no torch, numpy and safetensors";
  TempDir dir;
  ASSERT_EQ(run_python("write_megatron.py", {fixture("qwen2"), dir / "torch", "2,1,1"}, dir / "log"), "");
  expect_no_silent_damage(dir / "torch", dir / "torch/iter_0000003",
                          {"mp_rank_00/model_optim_rng.pt", "mp_rank_01/model_optim_rng.pt"}, 60);
}

TEST(Convert, damage_to_our_torch_dist_is_found) {
  TempDir dir;
  convert(make_run(dir, "qwen2"), CkptFormat::torch_dist, dir / "dist");
  expect_no_silent_damage(dir / "dist", dir / "dist/iter_0000010", {"__0_0.distcp", "common.pt"}, 80);
}

TEST(Convert, transformers_computes_the_same) {
  if (!python_has("torch, transformers, safetensors")) GTEST_SKIP() << python() << " has no transformers";
  TempDir dir;
  std::vector<std::string> pairs;
  for (const std::string& model : all_fixtures()) {
    const std::string copy = dir / std::to_string(pairs.size());
    convert(model, CkptFormat::torch_dist, copy + ".dist");
    convert(copy + ".dist", CkptFormat::hf, copy);
    pairs.push_back(model), pairs.push_back(copy);
  }
  EXPECT_EQ(run_python("same_logits.py", pairs, dir / "log"), "");
}

// A Hugging Face directory too belongs to one job at a time. In the end it has no files of ours, and it is complete
// when config.json exists.
TEST(Convert, to_hf_locks_the_directory_and_ends_with_config_json) {
  TempDir dir;
  const std::string model = dir / "model";
  write_model(model, small_config(kSmallLlama), small_tensors(kSmallLlama));
  const std::string out = dir / "out";
  fs::create_directories(out), fs::create_directories(dir / "assets");
  spit(dir / "assets/tokenizer.json", "{\"a\": 1}");
  const auto write = [&] { convert(model, CkptFormat::hf, out, {.asset_dirs = {dir / "assets"}}); };
  {
    const SaveLock another(out);
    expect_error(write, "is saving there");
    EXPECT_EQ(names_in(out), (std::set<std::string>{kLockFile}));
  }
  fs::create_directories(out + "/tokenizer.json");  // so that it cannot be copied
  expect_error(write, "/assets/tokenizer.json could not be copied to " + out + "/tokenizer.json: ");
  EXPECT_EQ(names_in(out), std::set<std::string>{"tokenizer.json"});
  fs::remove_all(out);
  // If it cannot be written, nothing stays, and the remains of a killed job are removed.
  expect_error([&] { convert(model, CkptFormat::hf, out, {.family = "gpt2", .asset_dirs = {dir / "assets"}}); },
               "gpt2");
  EXPECT_FALSE(fs::exists(out));
  fs::create_directories(out);
  spit(out + "/model-00001-of-00007.safetensors.tmp-7", "x"), spit(out + "/tokenizer.json", "of another model");
  write();
  EXPECT_EQ(slurp(out + "/tokenizer.json"), "{\"a\": 1}");
  EXPECT_EQ(names_in(out),
            (std::set<std::string>{"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"}));
  expect_error(write, "already holds");
}

TEST(Convert, writes_into_no_checkpoint) {
  TempDir dir;
  const std::string model = dir / "model";
  write_model(model, small_config(kSmallLlama), small_tensors(kSmallLlama));
  for (const CkptFormat there : {CkptFormat::native, CkptFormat::torch_dist}) {
    const std::string save = dir / std::string(name_of(there)), one = save + "/iter_0000000";
    convert(model, there, save);
    const auto names = names_in(one);
    for (const CkptFormat to : {CkptFormat::native, CkptFormat::torch_dist, CkptFormat::hf})
      expect_error([&] { convert(model, to, one); },
                   one + ": this is a checkpoint, and deleting it would delete files saved in it: choose another");
    EXPECT_EQ(names_in(one), names);
  }
}

// Such a directory disappears when its checkpoint is replaced or deleted.
TEST(Convert, writes_below_no_checkpoint_and_among_no_others) {
  TempDir dir;
  const std::string model = dir / "model", save = dir / "save";
  write_model(model, small_config(kSmallLlama), small_tensors(kSmallLlama));
  convert(model, CkptFormat::native, save);
  for (const char* place : {"/iter_0000000/hf", "/iter_0000000/a/b", "/iter_0000003", "/iter_0000003/hf"})
    for (const CkptFormat to : {CkptFormat::native, CkptFormat::hf}) {
      expect_error([&] { convert(model, to, save + place); },
                   " is a checkpoint, and deleting it would delete files saved in it");
      EXPECT_EQ(names_in(save), (std::set<std::string>{"iter_0000000", "latest_checkpointed_iteration.txt"})) << place;
    }
  // A name without content does not count, and neither do files with such names.
  for (const char* name : {"export/iter_0000003", "export/iter_0000004", "export/iter_0000004/again"})
    convert(model, CkptFormat::hf, dir / name);
  spit(dir / "export/manifest.json", "{}"), spit(dir / "export/.metadata", "");
  convert(model, CkptFormat::hf, dir / "export/other/model");
  fs::create_directories(dir / "megatron/release");
  spit(dir / "megatron/latest_checkpointed_iteration.txt", "release");
  expect_error([&] { convert(model, CkptFormat::native, dir / "megatron"); }, "iteration.txt already exists");
}

TEST(Convert, refuses_what_is_not_there) {
  TempDir dir;
  expect_error([&] { open_any_checkpoint(dir / "x"); }, "x: no such directory");
  spit(dir / "file", "x");
  expect_error([&] { open_any_checkpoint(dir / "file"); }, "is a file");
  fs::create_directories(dir / "d/iter_0000003/mp_rank_00");
  spit(dir / "d/latest_checkpointed_iteration.txt", "3");
  expect_error([&] { open_any_checkpoint(dir / "d"); }, "model_optim_rng.pt is missing");
  spit(dir / "d/iter_0000003/mp_rank_00/model_optim_rng.pt", "not a zip at all, but long enough for one");
  expect_error([&] { open_any_checkpoint(dir / "d"); }, "not a zip archive of torch.save");
  expect_error([&] { open_any_checkpoint(dir / "d", {.iteration = 4}); }, "holds iterations [3]");
  EXPECT_EQ(error_of([] { parse_ckpt_format("zarr", "--from"); }), "--from 'zarr': want native, torch_dist, torch, hf");
  EXPECT_EQ(error_of([] { parse_ckpt_format("zarr", "--to", true); }), "--to 'zarr': want native, torch_dist, hf");
}

}  // namespace
}  // namespace megalith
