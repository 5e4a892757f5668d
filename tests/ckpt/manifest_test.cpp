// What is wrong in a manifest is named with its value, in one line.
#include "ckpt/checkpoint_layout.h"

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
    EXPECT_EQ(with(dims), fmt::format("PATH is not a checkpoint's manifest: tensor w: a shape has {} dimensions, at most "
                                      "64 are read",
                                      dims));
  EXPECT_EQ(with(64).find("dimensions, at most"), std::string::npos);
}

}  // namespace
}  // namespace megalith
