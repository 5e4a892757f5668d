// An error in a manifest is reported with its value, in one line.
#include "ckpt/native/checkpoint_layout.h"

#include <nlohmann/json.hpp>

#include "tests/ckpt/small_state.h"

namespace megalith {
namespace {

using nlohmann::ordered_json;

std::string refusal(const std::function<void(ordered_json&)>& edit) {
  TempDir dir;
  State(10).save(dir.path());
  auto j = ordered_json::parse(slurp(dir / "iter_0000010/manifest.json"));
  edit(j);
  return error_of([&] { parse_manifest(j.dump(), "PATH"); });
}

TEST(Manifest, has_shapes_of_few_dimensions) {
  const auto with = [](std::size_t dims) {
    return refusal([&](ordered_json& j) { j["tensors"][0]["shape"] = Shape(dims, 1); });
  };
  for (const std::size_t dims : {65, 400'000})
    EXPECT_EQ(with(dims),
              fmt::format("PATH is not a checkpoint's manifest: tensor w: a shape has {} dimensions, at most "
                          "64 are read",
                          dims));
  EXPECT_EQ(with(64).find("dimensions, at most"), std::string::npos);
}

TEST(Manifest, names_the_field_and_its_value) {
  const auto with = [](const std::string& pointer, const char* value) {
    const std::string text =
        refusal([&](ordered_json& j) { j[ordered_json::json_pointer(pointer)] = ordered_json::parse(value); });
    const std::string begin = "PATH is not a checkpoint's manifest: ";
    EXPECT_EQ(text.substr(0, begin.size()), begin);
    return text.substr(begin.size());
  };
  EXPECT_EQ(with("/iteration", "-1"), "iteration is -1: want an integer from 0 to 2^53");
  EXPECT_EQ(with("/iteration", "null"), "iteration is null: want an integer from 0 to 2^53");
  EXPECT_EQ(with("/iteration", "4611686018427387904"),
            "iteration is 4611686018427387904: want an integer from 0 to 2^53");
  EXPECT_EQ(with("/consumed_samples", "1.5"), "consumed_samples is 1.5: want an integer from 0 to 2^53");
  EXPECT_EQ(with("/tensors/0/name", "null"), "name is null");
  EXPECT_EQ(with("/tensors/0/dtype", "[1]"), "dtype is [1]");
  EXPECT_EQ(with("/tensors/0/shape", "[\"x\"]"), "a shape is [\"x\"]");
  EXPECT_EQ(with("/tensors/0/blocks/0", "{}"), "file is missing");
  EXPECT_EQ(with("/tensors/0/blocks", "[3]"), "file is missing");
  EXPECT_EQ(with("/files/shard_00000.safetensors", "\"xyz\""), "a checksum is \"xyz\": want 16 digits of base 16");
  EXPECT_EQ(with("/headers", "{\"a\": 7}"), "a checksum is 7");
  EXPECT_EQ(error_of([] { parse_manifest("{", "PATH"); }), "PATH is not a checkpoint's manifest: it is no JSON object");
}

}  // namespace
}  // namespace megalith
