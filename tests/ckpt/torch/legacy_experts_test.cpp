// Experts of Megatron's `torch` checkpoints, in their three forms.
#include "ckpt/torch/legacy_experts.h"

#include <cstring>

#include "ckpt/torch/pickle_writer.h"
#include "ckpt/torch/torch_legacy.h"
#include "ckpt/torch/torch_zip_writer.h"
#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

struct Values {
  std::string name;
  Shape shape;
  std::vector<float> numbers;
};

struct Ranks {
  i64 tensor = 1, expert = 1;
};

// A rank's file of a mixture of 4 experts, as PyTorch writes it: contiguous tensors.
void write_rank(const std::string& folder, const std::vector<Values>& tensors, const Ranks& ranks) {
  PickleWriter p;
  std::string record;
  p.dict([&] {
    p.entry("checkpoint_version", 3.0);
    p.text("model");
    p.dict([&] {
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto n = i64(tensors[i].numbers.size());
        p.text(tensors[i].name);
        p.call("torch._utils", "_rebuild_tensor_v2", [&] {
          p.persistent([&] {
            p.text("storage"), p.global("torch", "FloatStorage"), p.text(std::to_string(i)), p.text("cpu");
            p.integer(n);
          });
          p.integer(0), p.sizes(tensors[i].shape), p.sizes(row_major_strides(tensors[i].shape));
          p.boolean(false), p.none();
        });
      }
    });
    p.text("args");
    p.object("argparse", "Namespace", [&] {
      p.dict([&] {
        p.entry("num_experts", i64{4}), p.flag("swiglu", true);
        p.entry("expert_model_parallel_size", ranks.expert), p.entry("tensor_model_parallel_size", ranks.tensor);
      });
    });
  });
  std::string bytes;
  TorchZipWriter zip(
      [&](std::span<const std::byte> part) { bytes.append(reinterpret_cast<const char*>(part.data()), part.size()); });
  zip.record("data.pkl", p.finish());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& numbers = tensors[i].numbers;
    std::string data(numbers.size() * sizeof(float), 0);
    std::memcpy(data.data(), numbers.data(), data.size());
    zip.record("data/" + std::to_string(i), data);
  }
  zip.record("version", "3\n"), zip.finish();
  fs::create_directories(folder);
  spit(folder + "/model_optim_rng.pt", bytes);
}

constexpr i64 kHidden = 3, kWidth = 2;

// An element of expert e's fc1 [2f, h] or fc2 [h, f] of the whole model.
float element(int linear, i64 e, i64 row, i64 column) { return float(linear * 1000 + e * 100 + row * 10 + column); }

Values matrix(const std::string& name, int linear, i64 e) {
  const Shape shape = linear == 1 ? Shape{2 * kWidth, kHidden} : Shape{kHidden, kWidth};
  Values v{name, shape, {}};
  for (i64 r = 0; r < shape[0]; ++r)
    for (i64 c = 0; c < shape[1]; ++c) v.numbers.push_back(element(linear, e, r, c));
  return v;
}

// weight1 [h, E 2f] or weight2 [E f, h] of experts [first, first + 2): views of [E, h, 2f] and [E, f, h].
Values grouped(int linear, i64 first) {
  Values v{fmt::format("decoder.layers.0.mlp.experts.weight{}", linear), {}, {}};
  v.shape = linear == 1 ? Shape{kHidden, 2 * 2 * kWidth} : Shape{2 * kWidth, kHidden};
  for (i64 e = first; e < first + 2; ++e) {
    const i64 in = linear == 1 ? kHidden : kWidth, out = linear == 1 ? 2 * kWidth : kHidden;
    for (i64 i = 0; i < in; ++i)
      for (i64 o = 0; o < out; ++o) v.numbers.push_back(element(linear, e, o, i));
  }
  return v;
}

void expect_experts(const std::string& dir) {
  const TorchLegacy files(dir);
  EXPECT_EQ(files.tensors().tensors().size(), 8u);
  for (i64 e = 0; e < 4; ++e)
    for (const int linear : {1, 2}) {
      const std::string name =
          fmt::format("decoder.layers.0.mlp.experts.local_experts.{}.linear_fc{}.weight", e, linear);
      const Values want = matrix(name, linear, e);
      const auto at = files.tensors().find(name);
      ASSERT_TRUE(at) << name;
      EXPECT_EQ(files.tensors().tensors()[*at].shape, want.shape) << name;
      std::vector<float> got(want.numbers.size());
      files.tensors().read_range(*at, 0, i64(got.size()), reinterpret_cast<std::byte*>(got.data()));
      EXPECT_EQ(got, want.numbers) << name;
    }
}

}  // namespace

TEST(LegacyExperts, have_one_name_in_all_forms_and_over_expert_ranks) {
  TempDir dir;
  for (const std::string form : {"sequential", "grouped", "old"})
    for (i64 rank = 0; rank < 2; ++rank) {
      std::vector<Values> tensors;
      for (const int linear : {1, 2})
        for (i64 i = 0; i < 2 && form != "old"; ++i) {
          const std::string begin = "decoder.layers.0.mlp.experts.";
          const std::string end = form == "sequential" ? fmt::format("local_experts.{}.linear_fc{}.weight", i, linear)
                                                       : fmt::format("linear_fc{}.weight{}", linear, i);
          tensors.push_back(matrix(begin + end, linear, 2 * rank + i));
        }
      if (form == "old") tensors = {grouped(1, 2 * rank), grouped(2, 2 * rank)};
      write_rank(fmt::format("{}/{}/mp_rank_00_{:03}", dir.path(), form, rank), tensors, {.expert = 2});
    }
  for (const char* form : {"sequential", "grouped", "old"}) expect_experts(dir / form);
}

// Each tensor-parallel rank has its part of gates and of up projections, for each expert.
TEST(LegacyExperts, are_put_together_of_tensor_ranks) {
  TempDir dir;
  for (i64 rank = 0; rank < 2; ++rank) {
    std::vector<Values> tensors;
    for (i64 e = 0; e < 4; ++e) {
      const std::string begin = "decoder.layers.0.mlp.experts.";
      Values fc1{begin + fmt::format("linear_fc1.weight{}", e), {kWidth, kHidden}, {}};
      for (const i64 row : {rank, kWidth + rank})
        for (i64 c = 0; c < kHidden; ++c) fc1.numbers.push_back(element(1, e, row, c));
      Values fc2{begin + fmt::format("linear_fc2.weight{}", e), {kHidden, kWidth / 2}, {}};
      for (i64 r = 0; r < kHidden; ++r) fc2.numbers.push_back(element(2, e, r, rank));
      tensors.push_back(fc1), tensors.push_back(fc2);
    }
    write_rank(fmt::format("{}/mp_rank_{:02}", dir.path(), rank), tensors, {.tensor = 2});
  }
  expect_experts(dir.path());
}

TEST(LegacyExperts, refuse_what_is_not_whole) {
  TempDir dir;
  write_rank(dir / "a/mp_rank_00_000", {grouped(1, 0)}, {.expert = 2});
  write_rank(dir / "a/mp_rank_00_002", {grouped(1, 2)}, {.expert = 2});
  expect_error([&] { TorchLegacy{dir / "a"}; }, "has files of 2 of 1 x 1 x 3 ranks");
  write_rank(dir / "b/mp_rank_00", {matrix("decoder.layers.0.mlp.experts.linear_fc1.weight4", 1, 0)}, {});
  expect_error([&] { TorchLegacy{dir / "b"}; }, "linear_fc1.weight4 is of none of the rank's 4 experts");
  Values odd = grouped(1, 0);
  odd.shape = {8, 3};
  write_rank(dir / "c/mp_rank_00", {odd}, {});
  expect_error([&] { TorchLegacy{dir / "c"}; }, "weight1 of shape [8, 3] does not have 4 consecutive experts");
}

}  // namespace megalith
