// A T5's answers over caches against the whole model evaluated anew for every token.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "exec/cpu/backend.h"
#include "generate/t5_generator.h"
#include "models/gpt/gpt.h"
#include "models/make_model.h"
#include "step/feed.h"

namespace megalith::test {
namespace {

constexpr i64 kSource = 13, kLongest = 20, kVocabulary = 101;

struct Case {
  const char* name;
  void (*change)(ModelConfig&);
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

constexpr Case kCases[] = {
    {"learned", [](ModelConfig&) {}},
    {"rope_swiglu",
     [](ModelConfig& m) {
       m.position_embedding_type = PositionEmbedding::rope, m.activation = Activation::swiglu, m.ffn_hidden_size = 48;
     }},
    {"relative_untied",
     [](ModelConfig& m) {
       m.position_embedding_type = PositionEmbedding::relative, m.untie_embeddings_and_output_weights = true;
       m.normalization = Normalization::rms_norm, m.add_bias_linear = false;
       m.t5.relative_attention_num_buckets = 8, m.t5.relative_attention_max_distance = 11;
     }},
    {"google_v10",
     [](ModelConfig& m) {
       m.position_embedding_type = PositionEmbedding::relative, m.activation = Activation::relu;
       m.t5.relative_attention_num_buckets = 6, m.t5.relative_attention_max_distance = 7;
       m.t5.unscaled_attention = m.t5.scale_decoder_outputs = m.t5.no_head_bias = true, m.kv_channels = 6;
     }},
};

ModelConfig config_of(const Case& c) {
  ModelConfig m;
  m.architecture = Architecture::t5, m.num_layers = 2, m.t5.decoder_num_layers = 3, m.hidden_size = 32;
  m.num_attention_heads = 4, m.seq_length = kSource, m.t5.decoder_seq_length = kLongest, m.vocab_size = kVocabulary;
  m.max_position_embeddings = kLongest, m.init_method_std = 0.3;  // logits well apart
  c.change(m);
  m.resolve();
  return m;
}

// The model as training evaluates it: the logits behind a decoder's text.
class WholeT5 {
 public:
  WholeT5(const ModelConfig& model, u64 seed, const Backend& backend) {
    StepSpec spec;
    spec.model = make_model(model, ParallelStyle{.pack_qkv = true});
    spec.train = false, spec.evaluate = true, spec.keep_outputs = true;
    step_ = plan_step(spec, backend);
    interpreter_ = backend.make_interpreter(step_.plan, Coord{});
    ModelState(step_, *interpreter_).initialise(seed);
  }

  std::vector<float> logits_after(const std::vector<i32>& text, const std::vector<i32>& decoder) {
    Batch b{.sequences = 1, .seq_length = kSource};
    b.ints("tokens") = text, b.ints("lengths") = {i32(text.size())}, b.longs("rows") = {0};
    b.ints("decoder_tokens") = decoder;
    b.ints("decoder_tokens").resize(kLongest, 0);  // causal: what follows does not matter
    b.ints("labels").assign(kLongest, 0), b.floats("loss_mask").assign(kLongest, 1);
    Feed(step_.plan, step_.inputs, *interpreter_, Coord{})(b);
    interpreter_->run(0, true);
    const Program& p = step_.plan.programs[0];
    const Type& type = p.buffers[size_t(p.outputs.at("logits"))].type;
    std::vector<float> all(size_t(type.elements()));
    interpreter_->read_output(0, "logits", all.data());
    const auto row = all.begin() + (i64(decoder.size()) - 1) * type.dim(2);
    return {row, row + kVocabulary};
  }

 private:
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
};

std::vector<i32> some_text(u32 seed) {
  std::mt19937 random(seed);
  std::vector<i32> text(static_cast<size_t>(kSource));
  for (i32& token : text) token = i32(random() % kVocabulary);
  return text;
}

class T5Generation : public ::testing::TestWithParam<Case> {};

// Two texts: nothing of the first one's caches may be left.
TEST_P(T5Generation, HasTheWholeModelsLogits) {
  const auto backend = make_cpu_backend();
  const ModelConfig model = config_of(GetParam());
  T5Generator generator(model, DType::f32, kSource, kLongest, *backend);
  generator.weights().initialise(3);
  WholeT5 whole(model, 3, *backend);
  for (const u32 seed : {1, 2}) {
    const std::vector<i32> text = some_text(seed);
    generator.read(text);
    std::vector<i32> decoder;
    for (i32 token = 0; i64(decoder.size()) < kLongest;) {
      decoder.push_back(token);
      const std::vector<float> got = generator.next(token), want = whole.logits_after(text, decoder);
      float largest = 0, off = 0;
      for (size_t v = 0; v < want.size(); ++v)
        largest = std::max(largest, std::abs(want[v])), off = std::max(off, std::abs(got[v] - want[v]));
      EXPECT_GT(largest, 0.1f);
      EXPECT_LE(off, 1e-5f * largest + 1e-5f) << "text " << seed << ", token " << decoder.size();
      token = i32((decoder.size() * 37 + seed) % kVocabulary);
    }
  }
}

TEST_P(T5Generation, GreedyTakesTheLikeliest) {
  const auto backend = make_cpu_backend();
  T5Generator generator(config_of(GetParam()), DType::f32, kSource, kLongest, *backend);
  generator.weights().initialise(3);
  SamplingOptions greedy;
  greedy.temperature = 0;
  const std::vector<i32> text = some_text(5), made = generator.generate(text, 7, kLongest, {}, greedy);
  ASSERT_EQ(i64(made.size()), kLongest);
  generator.read(text);
  i32 token = 7;
  for (const i32 next : made) {
    const std::vector<float> logits = generator.next(token);
    EXPECT_EQ(next, std::ranges::max_element(logits) - logits.begin());
    token = next;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, T5Generation, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(T5Generator, EndsBehindAnyOfTheStops) {
  const auto backend = make_cpu_backend();
  T5Generator generator(config_of(kCases[0]), DType::f32, kSource, kLongest, *backend);
  generator.weights().initialise(3);
  const std::vector<i32> text = some_text(4);
  SamplingOptions sampling;  // of random weights: tokens differ
  const std::vector<i32> whole = generator.generate(text, 0, kLongest, {}, sampling);
  EXPECT_EQ(generator.generate(text, 0, kLongest, {}, sampling), whole) << "the seed is the same";
  for (const size_t at : {0, 3, 11}) {
    const i32 stops[] = {-1, whole[at]};
    const auto end = std::ranges::find(whole, whole[at]);
    const std::vector<i32> made = generator.generate(text, 0, kLongest, stops, sampling);
    EXPECT_EQ(made, std::vector<i32>(whole.begin(), end + 1)) << at;
  }
}

TEST(T5Generator, RefusesWhatItCannotDo) {
  const auto backend = make_cpu_backend();
  const ModelConfig model = config_of(kCases[0]);
  EXPECT_THROW(T5Generator(model, DType::f32, kSource, kLongest + 1, *backend), Error);  // learned positions end
  EXPECT_THROW(T5Generator(model, DType::f32, kLongest + 1, 1, *backend), Error);
  EXPECT_THROW(T5Generator(model, DType::f32, 0, 1, *backend), Error);
  T5Generator generator(model, DType::f32, kSource, 2, *backend);
  generator.weights().initialise(3);
  std::vector<i32> text = some_text(1);
  EXPECT_THROW(generator.generate(text, 0, 3, {}, {}), Error);
  EXPECT_THROW(generator.generate(text, i32(kVocabulary), 2, {}, {}), Error);
  EXPECT_EQ(generator.generate(text, 0, 2, {}, {}).size(), 2u);
  EXPECT_THROW(generator.next(0), Error);
  text[3] = -1;
  EXPECT_THROW(generator.read(text), Error);
  text.pop_back();
  EXPECT_THROW(generator.read(text), Error);
}

}  // namespace
}  // namespace megalith::test
