// Tensors that a model keeps but does not train, of any dtype, in Megatron's format and through conversions.
#include <cstring>

#include "ckpt/convert.h"
#include "ckpt/native/save_steps.h"
#include "ckpt/torch/megatron_save.h"
#include "tests/ckpt/small_models.h"
#include "tests/ckpt/small_state.h"

namespace megalith {
namespace {

const std::vector<i32> kCounts = {7, -1, 2147483647, 16777217};  // the last one is not f32
const std::vector<double> kMeans = {1.0 / 3, 2};
const std::vector<bf16> kNear = {0.5f, -3.0f, 1e30f};

std::vector<SaveTensor> untrained() {
  std::vector<SaveTensor> out = {{"decoder.layers.0.mlp.router.counts", {2, 2}, DType::i32, kCounts.data()},
                                 {"means", {2}, DType::f64, kMeans.data()},
                                 {"near", {3}, DType::bf16, kNear.data()}};
  for (SaveTensor& t : out) t.is_trained = false;
  return out;
}

void expect_kept(const AnyCheckpoint& c, const std::string& what) {
  for (const SaveTensor& t : untrained()) {
    const std::size_t at = c.tensors->at(t.name);
    EXPECT_EQ(c.tensors->tensors()[at].dtype, t.dtype) << what << " " << t.name;
    ASSERT_EQ(c.tensors->tensors()[at].shape, t.shape) << what << " " << t.name;
    std::vector<std::byte> bytes(std::size_t(bytes_of(t)));
    c.tensors->read_range(at, 0, count(t.shape), bytes.data());
    EXPECT_EQ(std::memcmp(bytes.data(), t.data, bytes.size()), 0) << what << " " << t.name;
  }
}

TEST(Untrained, keeps_its_name_and_dtype_in_every_format) {
  TempDir dir;
  AnyCheckpoint run = open_any_checkpoint(fixture("qwen2"));
  run.manifest.iteration = 10;
  std::vector<SaveTensor> tensors = untrained();
  for (std::size_t i = 0; i < run.tensors->tensors().size(); ++i) {
    const TensorSpec& t = run.tensors->tensors()[i];
    tensors.push_back({.name = t.name, .shape = t.shape, .fill = [&run, i](i64 begin, i64 n, std::byte* to) {
                         run.tensors->read_range_as(i, begin, n, DType::f32, to);
                       }});
  }
  const SaveOptions options;
  save_alone(dir / "dist", 10, *megatron_writer({run.manifest, *run.model, DType::bf16, false}, tensors, 0, options),
             options);
  save_checkpoint(dir / "ours", run.manifest, tensors);
  expect_kept(open_any_checkpoint(dir / "dist"), "torch_dist");
  expect_kept(open_any_checkpoint(dir / "ours"), "native");
  const std::size_t weight = open_any_checkpoint(dir / "dist").tensors->at("decoder.final_layernorm.weight");
  EXPECT_EQ(open_any_checkpoint(dir / "dist").tensors->tensors()[weight].dtype, DType::bf16);
  convert_checkpoint(open_any_checkpoint(dir / "dist"), CkptFormat::native, dir / "back", {});
  convert_checkpoint(open_any_checkpoint(dir / "ours"), CkptFormat::torch_dist, dir / "there", {});
  expect_kept(open_any_checkpoint(dir / "back"), "torch_dist to native");
  expect_kept(open_any_checkpoint(dir / "there"), "native to torch_dist");
}

}  // namespace
}  // namespace megalith
