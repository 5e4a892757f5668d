// A T5's weights in Megatron's and Hugging Face's formats: files of other programs, and round trips.
#include <algorithm>
#include <cstring>

#include "ckpt/convert.h"
#include "ckpt/hf/hf_weights.h"
#include "ckpt/native/model_json.h"
#include "ckpt/torch/megatron_common.h"
#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/optimizer_state.h"
#include "ckpt/torch/torch_dist.h"
#include "tests/ckpt/helpers.h"

namespace megalith {
namespace {

std::vector<float> values_of(const TensorReader& from, const std::string& name) {
  const std::size_t i = from.at(name);
  std::vector<float> out(std::size_t(count(from.tensors()[i].shape)));
  from.read_range_as(i, 0, i64(out.size()), DType::f32, reinterpret_cast<std::byte*>(out.data()));
  return out;
}

void expect_same(const TensorReader& a, const TensorReader& b) {
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (const TensorSpec& t : a.tensors()) {
    ASSERT_TRUE(b.find(t.name)) << t.name;
    EXPECT_EQ(b.tensors()[b.at(t.name)].shape, t.shape) << t.name;
    EXPECT_EQ(values_of(a, t.name), values_of(b, t.name)) << t.name;
  }
}

// The weights of a golden case by the names of Megatron's modules, as ours.
std::shared_ptr<const TensorReader> case_weights(const std::string& dir, const ModelConfig& model) {
  const TensorFiles files = TensorFiles::open_file(dir + "/weights.safetensors");
  const auto all = read_hf_files(files, [](const TensorInfo&) { return true; });
  const auto has = [&](const std::string& name) { return files.find(name) != nullptr; };
  const TensorMapping mapping = megatron_mapping(model, MegatronLayers::separate, model.vocab_size, has);
  return std::make_shared<MappedTensors>(all, mapping, MapTo::ours, MappedTensors::Options{});
}

// A tied head with a bias: no family of Hugging Face has that.
ModelConfig small_megatron_t5() {
  ModelConfig m;
  m.architecture = Architecture::t5;
  m.num_layers = 2, m.hidden_size = 8, m.ffn_hidden_size = 12, m.num_attention_heads = 2, m.kv_channels = 3;
  m.seq_length = 9, m.vocab_size = 21, m.make_vocab_size_divisible_by = 8;
  m.t5.decoder_num_layers = 3, m.t5.decoder_seq_length = 7;
  m.resolve();
  return m;
}

// Numbers that identify their tensor and their index.
class CountedTensors final : public TensorReader {
 public:
  explicit CountedTensors(const std::vector<NamedShape>& tensors) : TensorReader("memory") {
    for (const NamedShape& t : tensors) add({t.name, DType::f32, t.shape});
  }

 private:
  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override {
    for (i64 i = 0; i < n; ++i) {
      const float value = float(tensor) * 1000 + float(begin + i);
      std::memcpy(out + i * i64(sizeof value), &value, sizeof value);
    }
  }
};

AnyCheckpoint counted(const ModelConfig& m) {
  AnyCheckpoint c;
  c.path = "memory", c.model = m;
  c.manifest = {3, 12, model_to_json(m), "{}"};
  c.tensors = std::make_shared<CountedTensors>(megatron_mapping(m, MegatronLayers::stacked, m.vocab_size).ours);
  return c;
}

}  // namespace

// Checkpoints of Megatron Core have the weights of its golden cases.
TEST(T5Files, reads_what_megatron_wrote) {
  for (const std::string name : {"t5_learned", "t5_relative"}) {
    const std::string stored = shared_megatron("checkpoint_" + name);
    if (!fs::exists(stored)) GTEST_SKIP() << stored << " is not there";
    const AnyCheckpoint c = open_any_checkpoint(stored);
    const ModelConfig& m = c.model.value();
    EXPECT_TRUE(m.is_t5());
    EXPECT_EQ(m.num_layers, 2);
    EXPECT_EQ(m.t5.decoder_num_layers, 3);
    EXPECT_EQ(m.t5.decoder_seq_length, 14);
    EXPECT_FALSE(m.t5.no_head_bias);
    if (name == "t5_relative") {
      EXPECT_EQ(m.position_embedding_type, PositionEmbedding::relative);
      EXPECT_EQ(m.t5.relative_attention_num_buckets, 8);
    }
    expect_same(*c.tensors, *case_weights(shared_megatron(name), m));
  }
}

TEST(T5Files, to_megatron_and_back_are_the_same_numbers) {
  for (const bool relative : {false, true}) {
    ModelConfig m = small_megatron_t5();
    if (relative) m.position_embedding_type = PositionEmbedding::relative, m.untie_embeddings_and_output_weights = true;
    TempDir dir;
    const AnyCheckpoint from = counted(m);
    convert_checkpoint(from, CkptFormat::torch_dist, dir / "m", {});
    const AnyCheckpoint back = open_any_checkpoint(dir / "m");
    expect_same(*from.tensors, *back.tensors);
    // Its class has some tensors twice.
    const TorchDist stored(find_checkpoint(dir / "m")->path);
    const auto expect_twice = [&](const char* one, const char* other) {
      EXPECT_EQ(values_of(stored.tensors(), one), values_of(stored.tensors(), other)) << one;
    };
    if (relative) {
      expect_twice("lm_head.output_layer.weight", "output_layer.weight");
      EXPECT_FALSE(stored.tensors().find("output_layer.bias"));
    } else {
      expect_twice("embedding.position_embeddings.weight", "position_embeddings.weight");
      expect_twice("lm_head.output_layer.bias", "output_layer.bias");
      EXPECT_EQ(values_of(stored.tensors(), "output_layer.bias").size(), 24u);
    }
  }
}

// Where Megatron's class has a tensor twice, the optimizer's state has only the second name.
TEST(T5Files, the_optimizers_state_has_second_names) {
  const ModelConfig m = small_megatron_t5();
  TempDir dir;
  AnyCheckpoint from = counted(m);
  std::vector<NamedShape> all = megatron_mapping(m, MegatronLayers::stacked, m.vocab_size).ours;
  const std::size_t weights = all.size();
  for (const char* kind : {"exp_avg.", "exp_avg_sq."})
    for (std::size_t i = 0; i < weights; ++i) all.push_back({kOptimizerState + (kind + all[i].name), all[i].shape});
  from.tensors = std::make_shared<CountedTensors>(all);
  convert_checkpoint(from, CkptFormat::torch_dist, dir / "m", {});
  const TorchDist stored(find_checkpoint(dir / "m")->path);
  for (const std::string kind : {"param.", "exp_avg.", "exp_avg_sq."}) {
    const std::string state = kMegatronState + kind;
    for (const char* name : {"output_layer.bias", "position_embeddings.weight", "embedding.word_embeddings.weight"})
      EXPECT_TRUE(stored.tensors().find(state + name)) << kind << name;
    for (const char* name : {"lm_head.output_layer.bias", "embedding.position_embeddings.weight"})
      EXPECT_FALSE(stored.tensors().find(state + name)) << kind << name;
  }
  const AnyCheckpoint back = open_any_checkpoint(dir / "m");
  EXPECT_EQ(back.state_problem, "");
  expect_same(*from.tensors, *back.tensors);
}

TEST(T5Files, names_the_objects_that_its_modules_ask_for) {
  const std::vector<std::string> all = extra_state_names(small_megatron_t5());
  for (const char* name :
       {"encoder.layers.self_attention.linear_qkv._extra_state/shard_1_2",
        "decoder.layers.cross_attention.linear_kv._extra_state/shard_2_3", "output_layer._extra_state/shard_0_1"})
    EXPECT_NE(std::ranges::find(all, name), all.end()) << name;
}

TEST(T5Files, hugging_faces_files_go_there_and_back) {
  for (const char* name : kGoldenT5) {
    TempDir dir;
    const AnyCheckpoint model = open_any_checkpoint(golden(name));
    convert_checkpoint(model, CkptFormat::native, dir / "n", {});
    AnyCheckpoint read = open_any_checkpoint(dir / "n");
    read.hf_config.clear();
    convert_checkpoint(read, CkptFormat::hf, dir / "back", {});
    const AnyCheckpoint back = open_any_checkpoint(dir / "back");
    EXPECT_EQ(back.model, model.model) << name;
    expect_same(*model.tensors, *back.tensors);
  }
}

// It would be read as a different model.
TEST(T5Files, a_bias_of_the_head_is_not_written_for_hugging_face) {
  TempDir dir;
  ModelConfig m = small_megatron_t5();
  m.position_embedding_type = PositionEmbedding::relative, m.normalization = Normalization::rms_norm;
  m.add_bias_linear = false, m.activation = Activation::relu, m.t5.unscaled_attention = true;
  m.attention_dropout = m.hidden_dropout = 0, m.t5.scale_decoder_outputs = true;
  expect_error([&] { convert_checkpoint(counted(m), CkptFormat::hf, dir / "hf", {.family = "t5"}); },
               "a bias of the head = false, not true");
}

}  // namespace megalith
