// Saves and finds a small model's state.
#pragma once
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ckpt/native/checkpoint.h"
#include "tests/ckpt/helpers.h"

namespace megalith {

// A model's state whose numbers all depend on `seed`.
struct State {
  Manifest manifest;
  std::vector<float> weight = std::vector<float>(12), moment = std::vector<float>(12);
  std::vector<bf16> half = std::vector<bf16>(5);

  explicit State(i64 iteration, float seed = 1) {
    manifest = {iteration, iteration * 32, R"({"hidden_size":4})",
                fmt::format(R"({{"seed":18446744073709551615,"lr":{}}})", 0.1 * seed)};
    std::iota(weight.begin(), weight.end(), 100 * seed + float(iteration));
    std::iota(moment.begin(), moment.end(), 1000 * seed + float(iteration));
    for (std::size_t i = 0; i < half.size(); ++i) half[i] = seed * float(i);
  }
  std::vector<SaveTensor> tensors() const {
    return {
        {"w", {3, 4}, DType::f32, weight.data()},
        {"optimizer.exp_avg.w", {3, 4}, DType::f32, moment.data()},
        {"h", {5}, DType::bf16, half.data()},
        {.name = "filled",
         .shape = {2, 5},
         .fill = [this](i64 begin, i64 n,
                        std::byte* out) { std::memcpy(out, weight.data() + begin, std::size_t(n) * sizeof(float)); }},
        {"none", {0, 3}, DType::f32, nullptr},
        {"scalar", {}, DType::f32, weight.data()}};
  }
  void save(const std::string& dir, const SaveOptions& options = {}) const {
    save_checkpoint(dir, manifest, tensors(), options);
  }
};

inline void expect_holds(const Checkpoint& c, const State& s) {
  EXPECT_EQ(c.manifest().iteration, s.manifest.iteration);
  EXPECT_EQ(c.manifest().consumed_samples, s.manifest.consumed_samples);
  EXPECT_EQ(c.manifest().config_json, s.manifest.config_json);
  EXPECT_EQ(nlohmann::json::parse(c.manifest().state_json), nlohmann::json::parse(s.manifest.state_json));
  const void* weights = s.weight.data();
  for (const SaveTensor& t : s.tensors()) {
    std::vector<std::byte> out(std::size_t(count(t.shape) * size_of(t.dtype)));
    c.read_block(t.name, Shape(t.shape.size(), 0), t.shape, out);
    const void* data = t.fill ? weights : t.data;
    EXPECT_TRUE(out.empty() || std::memcmp(out.data(), data, out.size()) == 0) << t.name;
  }
  EXPECT_EQ(c.tensors().size(), s.tensors().size());
}

}  // namespace megalith
