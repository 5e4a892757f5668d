// Element types in conversions: each tensor keeps its own, and types that nothing computes with are copied.
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "ckpt/convert.h"
#include "ckpt/inspect.h"
#include "tests/ckpt/small_models.h"
#include "tests/ckpt/torch/python.h"

namespace megalith {
namespace {

void convert_types(const std::string& from, CkptFormat to, const std::string& dir, const ConvertOptions& options = {}) {
  convert_checkpoint(open_any_checkpoint(from), to, dir, options);
}

std::vector<Stored> read_model(const std::string& dir) {
  std::vector<Stored> out;
  const TensorFiles files = TensorFiles::open_directory(dir);
  for (const TensorInfo& t : files.tensors()) {
    out.push_back({{t.name, t.dtype(), t.shape}, files.read(t)});
  }
  return out;
}

Stored as(const Stored& t, DType type) {
  Stored out{{t.spec.name, type, t.spec.shape},
             std::vector<std::byte>(std::size_t(count(t.spec.shape) * size_of(type)))};
  convert_elements(t.spec.dtype, t.bytes.data(), type, out.bytes.data(), count(t.spec.shape));
  return out;
}

constexpr const char* kForeign = R"({"architectures": ["OtherModel"], "model_type": "other"})";

TEST(Types, of_foreign_models_pass_as_they_are) {
  TempDir dir;
  std::vector<Stored> all;
  for (int i = 0; i < kDTypes; ++i) {
    Stored t{{fmt::format("t{}.{}", i, name_of(DType(i))), DType(i), {3, 5}}, {}};
    for (i64 b = 0; b < 15 * size_of(DType(i)); ++b)
      t.bytes.push_back(std::byte(DType(i) == DType::boolean ? b % 2 : 7 * b));
    all.push_back(std::move(t));
  }
  write_model(dir / "hf", kForeign, all);
  for (const CkptFormat middle : {CkptFormat::native, CkptFormat::torch_dist}) {
    const std::string there = dir / std::string(name_of(middle)), back = there + "_back";
    convert_types(dir / "hf", middle, there);
    convert_types(there, CkptFormat::hf, back);
    EXPECT_TRUE(slurp(back + "/model.safetensors") == slurp(dir / "hf/model.safetensors")) << there;
  }
  for (const CkptFormat to : {CkptFormat::torch_dist, CkptFormat::hf})
    expect_error([&] { convert_types(dir / "hf", to, dir / "other", {.type = DType::f32}); },
                 "can only be copied, without");
}

// The same, written and checked by other libraries.
TEST(Types, are_those_of_pytorch_and_safetensors) {
  if (!python_has("torch, safetensors")) GTEST_SKIP() << python() << " has no torch and safetensors";
  TempDir dir;
  fs::create_directories(dir / "hf");
  spit(dir / "hf/config.json", kForeign);
  ASSERT_EQ(run_python("all_types.py", {"write", dir / "hf"}, dir / "log"), "");
  convert_types(dir / "hf", CkptFormat::torch_dist, dir / "dist");
  convert_types(dir / "dist", CkptFormat::hf, dir / "back");
  EXPECT_EQ(run_python("all_types.py", {"compare", dir / "hf", dir / "dist/iter_0000000", dir / "back"}, dir / "log"),
            "");
}

TEST(Types, that_are_not_read_are_told_by_inspect) {
  TempDir dir;
  write_model(dir / "hf", kForeign, {{{"a", DType::u64, {1}}, std::vector<std::byte>(8)}});
  std::string file = slurp(dir / "hf/model.safetensors");
  file.replace(file.find("\"U64\""), 5, "\"C64\"");
  spit(dir / "hf/model.safetensors", file);
  const RawCheckpoint raw = open_raw_checkpoint(dir / "hf");
  EXPECT_TRUE(raw.tensors->tensors().empty());
  EXPECT_EQ(raw.unread, std::vector<std::string>{"a (C64)"});
  expect_error([&] { convert_types(dir / "hf", CkptFormat::native, dir / "n"); }, "C64");
}

// Norms in f32 among bf16 matrices stay f32, unless one type is requested.
TEST(Types, that_differ_within_a_model_are_kept) {
  TempDir dir;
  std::vector<Stored> all;
  for (const Stored& t : small_tensors(kSmallLlama))
    all.push_back(t.spec.name.find("norm") == std::string::npos ? as(t, DType::bf16) : t);
  auto config = nlohmann::json::parse(small_config(kSmallLlama));
  config["torch_dtype"] = "bfloat16";
  write_model(dir / "hf", config.dump(), all);
  for (const CkptFormat middle : {CkptFormat::native, CkptFormat::torch_dist}) {
    const std::string there = dir / std::string(name_of(middle)), back = there + "_back";
    convert_types(dir / "hf", middle, there);
    convert_types(there, CkptFormat::hf, back);
    EXPECT_TRUE(slurp(back + "/model.safetensors") == slurp(dir / "hf/model.safetensors")) << there;
    EXPECT_EQ(nlohmann::json::parse(slurp(back + "/config.json"))["torch_dtype"], "bfloat16");
    convert_types(there, CkptFormat::hf, back + "_bf16", {.type = DType::bf16});
    for (const Stored& t : read_model(back + "_bf16")) EXPECT_EQ(t.spec.dtype, DType::bf16) << t.spec.name;
  }
}

// A tensor that is one here and several there gets the type that holds all of them.
TEST(Types, that_differ_within_a_tensor_are_joined) {
  TempDir dir;
  std::vector<Stored> all;
  for (const Stored& t : small_tensors(kSmallLlama)) {
    const bool half = t.spec.name.ends_with("gate_proj.weight"), brain = t.spec.name.ends_with("up_proj.weight");
    all.push_back(as(t, half ? DType::f16 : brain ? DType::bf16 : t.spec.dtype));
  }
  write_model(dir / "hf", small_config(kSmallLlama), all);
  convert_types(dir / "hf", CkptFormat::native, dir / "n");
  convert_types(dir / "n", CkptFormat::hf, dir / "back");
  std::map<std::string, Stored> back;
  for (Stored& t : read_model(dir / "back")) back[t.spec.name] = t;
  for (const Stored& t : all) EXPECT_TRUE(back.at(t.spec.name).bytes == as(t, DType::f32).bytes) << t.spec.name;
}

// If a weight would become infinite, the conversion fails; a weight that is infinite already is copied.
TEST(Types, that_cannot_hold_a_weight_are_refused) {
  TempDir dir;
  const auto write = [&](DType stored, double last) {
    std::vector<Stored> all = small_tensors(kSmallLlama);
    for (Stored& t : all) {
      if (t.spec.name != "model.layers.1.mlp.down_proj.weight") continue;
      t = as(t, DType::f64);
      std::memcpy(t.bytes.data() + t.bytes.size() - sizeof last, &last, sizeof last);
      t = as(t, stored);
    }
    write_model(dir / "hf", small_config(kSmallLlama), all);
  };
  const auto try_all = [&](DType type, const std::string& message) {
    for (const CkptFormat to : {CkptFormat::native, CkptFormat::torch_dist, CkptFormat::hf}) {
      const std::string place = dir / std::string(name_of(to)) + "_out";
      const auto run = [&] { convert_types(dir / "hf", to, place, {.type = type}); };
      if (message.empty())
        run();
      else
        expect_error(run, "tensor decoder.layers.1.mlp.linear_fc2.weight holds " + message);
      EXPECT_EQ(fs::exists(place), message.empty()) << place;
      fs::remove_all(place);
    }
  };
  write(DType::f32, 1e6), try_all(DType::f16, "1e+06, which f16 can't: choose bf16 or f32"), try_all(DType::bf16, "");
  write(DType::bf16, -1e6), try_all(DType::f16, "-999424, which f16 can't");
  write(DType::f64, 1e300), try_all(DType::f16, "1e+300, which f16 can't"), try_all(DType::bf16, "1e+300, which bf16");
  write(DType::f32, 3.4e38), try_all(DType::bf16, "3.4e+38, which bf16 can't: choose f32");
  write(DType::f32, 65519), try_all(DType::f16, "");  // the largest that rounds to 65504
  write(DType::f32, std::numeric_limits<double>::infinity()), try_all(DType::f16, ""), try_all(DType::bf16, "");
  write(DType::f32, std::numeric_limits<double>::quiet_NaN()), try_all(DType::f16, "");
}

// Checkpoints of GPT-NeoX (Pythia) carry their causal masks.
TEST(Types, of_masks_do_not_matter) {
  TempDir dir;
  std::vector<Stored> all = small_tensors(kSmallNeox);
  write_model(dir / "plain", small_config(kSmallNeox), all);
  all.push_back({{"gpt_neox.layers.0.attention.bias", DType::boolean, {1, 1, 2, 2}}, std::vector<std::byte>(4)});
  write_model(dir / "hf", small_config(kSmallNeox), all);
  convert_types(dir / "hf", CkptFormat::native, dir / "n");
  convert_types(dir / "n", CkptFormat::hf, dir / "back");
  EXPECT_TRUE(slurp(dir / "back/model.safetensors") == slurp(dir / "plain/model.safetensors"));
}

TEST(Types, of_weights_are_numbers_we_compute_with) {
  TempDir dir;
  std::vector<Stored> all = small_tensors(kSmallLlama);
  for (Stored& t : all)
    if (t.spec.name == "model.norm.weight") t.spec.dtype = DType::i32;
  write_model(dir / "hf", small_config(kSmallLlama), all);
  expect_error([&] { open_any_checkpoint(dir / "hf"); }, "\"model.norm.weight\" has type i32");
}

// Whoever made the checkpoint, our output must be readable again.
TEST(Types, of_weights_are_numbers_in_our_format_too) {
  TempDir dir;
  write_model(dir / "hf", small_config(kSmallLlama), small_tensors(kSmallLlama));
  convert_types(dir / "hf", CkptFormat::native, dir / "whole");
  const AnyCheckpoint c = open_any_checkpoint(dir / "whole");
  std::vector<SaveTensor> tensors;
  for (std::size_t i = 0; i < c.tensors->tensors().size(); ++i) {
    const TensorSpec& t = c.tensors->tensors()[i];
    SaveTensor& out = tensors.emplace_back(SaveTensor{t.name, t.shape, DType::i32});
    out.fill = [&c, i](i64 begin, i64 n, std::byte* to) { c.tensors->read_range(i, begin, n, to); };
  }
  save_checkpoint(dir / "numbers", c.manifest, tensors);
  expect_error([&] { convert_types(dir / "numbers", CkptFormat::hf, dir / "out"); },
               "has type i32: want a floating-point");
}

}  // namespace
}  // namespace megalith
