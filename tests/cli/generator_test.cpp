// Compares generation with a KV cache to a full evaluation of the model for every token.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "exec/cpu/backend.h"
#include "generate/generator.h"
#include "models/gpt/gpt.h"
#include "step/feed.h"

namespace megalith::test {
namespace {

constexpr i64 kLongest = 144;

struct GeneratedCase {
  const char* name;
  void (*change)(ModelConfig&);
};
void PrintTo(const GeneratedCase& c, std::ostream* out) { *out << c.name; }

constexpr GeneratedCase kGeneratedCases[] = {
    {"learned", [](ModelConfig&) {}},
    {"rope_gqa_swiglu",
     [](ModelConfig& m) {
       m.position_embedding_type = PositionEmbedding::rope, m.num_query_groups = 2, m.activation = Activation::swiglu;
       m.ffn_hidden_size = 48, m.normalization = Normalization::rms_norm, m.add_bias_linear = false;
       m.untie_embeddings_and_output_weights = true;
     }},
    {"alibi",
     [](ModelConfig& m) { m.position_embedding_type = PositionEmbedding::alibi, m.embedding_layernorm = true; }},
    {"sliding_window_mqa",
     [](ModelConfig& m) {
       m.position_embedding_type = PositionEmbedding::rope, m.num_query_groups = 1, m.sliding_window = 9;
       m.qk_layernorm = true;
     }},
    {"no_positions_parallel",
     [](ModelConfig& m) { m.position_embedding_type = PositionEmbedding::none, m.parallel_residual = true; }},
};

ModelConfig config_of(const GeneratedCase& c) {
  ModelConfig m;
  m.num_layers = 2, m.hidden_size = 32, m.num_attention_heads = 4, m.seq_length = kLongest, m.vocab_size = 101;
  m.init_method_std = 0.3;  // large differences between logits
  c.change(m);
  m.resolve();
  return m;
}

// The model as training evaluates it. It returns the logits at every position of one sequence.
class WholeModel {
 public:
  WholeModel(const ModelConfig& model, u64 seed, const Backend& backend) : vocab_(model.vocab_size) {
    StepSpec spec;
    spec.model = std::make_shared<Gpt>(model, ParallelStyle{.pack_qkv = true});
    spec.train = false, spec.evaluate = true, spec.keep_outputs = true;
    step_ = plan_step(spec, backend);
    interpreter_ = backend.make_interpreter(step_.plan, Coord{});
    ModelState(step_, *interpreter_).initialise(seed);
  }

  std::vector<float> logits_after(const std::vector<i32>& tokens) {
    Batch b;
    b.sequences = 1, b.seq_length = kLongest;
    b.ints("tokens") = tokens;
    b.ints("tokens").resize(kLongest, 0);  // causal: later tokens have no effect
    b.ints("labels").assign(kLongest, 0), b.floats("loss_mask").assign(kLongest, 1), b.longs("rows") = {0};
    for (i32 i = 0; i < kLongest; ++i) b.ints("position_ids").push_back(i);
    Feed(step_.plan, step_.inputs, *interpreter_, Coord{})(b);
    interpreter_->run(0, true);
    const Program& p = step_.plan.programs[0];
    const Type& type = p.buffers[size_t(p.outputs.at("logits"))].type;
    std::vector<float> all(size_t(type.elements()));
    interpreter_->read_output(0, "logits", all.data());
    const auto row = all.begin() + (i64(tokens.size()) - 1) * type.dim(2);
    return {row, row + vocab_};
  }

 private:
  i64 vocab_;
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
};

class Generation : public ::testing::TestWithParam<GeneratedCase> {};

// Prompts are shorter and longer than the number of tokens that one pass takes.
TEST_P(Generation, GreedyIsTheWholeModelsArgmax) {
  const auto backend = make_cpu_backend();
  const ModelConfig model = config_of(GetParam());
  Generator generator(model, DType::f32, kLongest, *backend);
  generator.weights().initialise(3);
  WholeModel whole(model, 3, *backend);
  std::mt19937 random(1);
  int different = 0;  // the answer must depend on the prompt
  for (const i64 length : {1, 7, 8, 9, 63, 64, 65, 72, 130}) {
    std::vector<i32> text(static_cast<size_t>(length));
    for (i32& token : text) token = i32(random() % 101);
    SamplingOptions greedy;
    greedy.temperature = 0;
    const std::vector<i32> made = generator.generate(text, 10, {}, greedy);
    ASSERT_EQ(made.size(), 10u);
    for (const i32 token : made) {
      const std::vector<float> logits = whole.logits_after(text);
      const float best = *std::ranges::max_element(logits);
      EXPECT_GE(logits[size_t(token)], best - 1e-4f) << "prompt of " << length << ", token " << text.size();
      different += !text.empty() && token != text.back();
      text.push_back(token);
    }
  }
  EXPECT_GT(different, 5);
}

INSTANTIATE_TEST_SUITE_P(Models, Generation, ::testing::ValuesIn(kGeneratedCases),
                         [](const auto& info) { return info.param.name; });

TEST(Generator, EndsBehindAnyOfTheStops) {
  const auto backend = make_cpu_backend();
  Generator generator(config_of(kGeneratedCases[0]), DType::f32, 40, *backend);
  generator.weights().initialise(3);
  const std::vector<i32> prompt = {1, 2};
  SamplingOptions sampling;  // tokens of random weights differ
  const std::vector<i32> whole = generator.generate(prompt, 30, {}, sampling);
  for (const size_t at : {0, 3, 11}) {
    const i32 stops[] = {-1, whole[25], whole[at]};
    const size_t end = size_t(std::ranges::find_first_of(whole, stops) - whole.begin());
    const std::vector<i32> made = generator.generate(prompt, 30, stops, sampling);
    EXPECT_EQ(made, std::vector<i32>(whole.begin(), whole.begin() + i64(end) + 1)) << at;
    EXPECT_LE(end, at);
  }
}

TEST(Generator, RefusesWhatItCannotDo) {
  const auto backend = make_cpu_backend();
  const ModelConfig model = config_of(kGeneratedCases[0]);
  EXPECT_THROW(Generator(model, DType::f32, kLongest + 1, *backend), Error);  // too many positions
  Generator generator(model, DType::f32, 20, *backend);
  generator.weights().initialise(3);
  const std::vector<i32> none, wrong = {101}, some = {1, 2};
  EXPECT_THROW(generator.generate(none, 1, {}, {}), Error);
  EXPECT_THROW(generator.generate(wrong, 1, {}, {}), Error);
  EXPECT_THROW(generator.generate(some, 19, {}, {}), Error);
  EXPECT_EQ(generator.generate(some, 18, {}, {}).size(), 18u);
}

}  // namespace
}  // namespace megalith::test
