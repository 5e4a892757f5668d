// The scales and histories of Transformer Engine's modules: equal to what tests/golden/make_fp8_history.py wrote.
#include "ckpt/torch/fp8_history.h"

#include <nlohmann/json.hpp>

#include "ckpt/any_checkpoint.h"
#include "tests/ckpt/small_models.h"
#include "tests/golden.h"

namespace megalith {
namespace {

std::vector<float> floats_of(const TensorReader& tensors, const std::string& name) {
  const size_t at = tensors.at(name);
  EXPECT_EQ(tensors.tensors()[at].dtype, DType::f32);
  std::vector<float> out(static_cast<size_t>(count(tensors.tensors()[at].shape)));
  tensors.read_range(at, 0, i64(out.size()), reinterpret_cast<std::byte*>(out.data()));
  return out;
}

TEST(Fp8History, IsReadFromMegatronsCheckpoints) {
  const std::string dir = golden("torch_dist_fp8");
  const AnyCheckpoint c = open_any_checkpoint(dir);
  const nlohmann::json expected = nlohmann::json::parse(slurp(dir + "/expected.json"));
  ASSERT_EQ(expected.size(), 8u);
  int read = 0;
  for (const auto& [module, values] : expected.items()) {
    const auto state = values.get<std::vector<float>>();
    std::vector<std::string> names = {module};
    constexpr std::string_view kTogether = "linear_qkv";
    if (module.ends_with(kTogether)) {
      names.clear();
      for (const char* own : {"linear_q", "linear_k", "linear_v"})
        names.push_back(module.substr(0, module.size() - kTogether.size()) + own);
    }
    for (const std::string& name : names) {
      EXPECT_EQ(floats_of(*c.tensors, name + ".fp8_state"), state) << name;
      EXPECT_EQ(c.tensors->tensors()[c.tensors->at(name + ".fp8_state")].shape, (Shape{5, 3}));
      ++read;
    }
  }
  EXPECT_EQ(read, 12);
  EXPECT_EQ(floats_of(*c.tensors, "decoder.layers.1.mlp.linear_fc2.fp8_state")[2], 0) << "never cast, so no scale yet";
}

std::vector<std::byte> pickle_of_a_module() {
  TorchDist dist(golden("torch_dist_fp8") + "/iter_0000010");
  const auto object = dist.object("decoder.layers.mlp.linear_fc1._extra_state/shard_1_2");
  return object->file.bytes(*object->root(), "bytes");
}

TEST(Fp8History, OfDamagedObjectsIsOneError) {
  const std::vector<std::byte> whole = pickle_of_a_module();
  ASSERT_EQ(fp8_state_in(whole, "here").size(), 15u);
  EXPECT_TRUE(fp8_state_in({}, "here").empty());
  for (size_t size = 1; size < whole.size(); ++size)
    EXPECT_THROW(fp8_state_in(std::span(whole).first(size), "here"), Error) << size;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> changed = whole;
    changed[at] ^= std::byte{0x41};
    try {
      fp8_state_in(changed, "here");
    } catch (const Error& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with("here")) << e.what();
    }
  }
}

}  // namespace
}  // namespace megalith
