// Tests of fine-tuning on chats: the results of a packed sample, and a full run from a hub directory and a file of
// chats.
#include <algorithm>
#include <filesystem>
#include <random>

#include "data/sft_dataset.h"
#include "device/make_backend.h"
#include "models/gpt/gpt.h"
#include "passes/gradients.h"
#include "step/feed.h"
#include "step/model_state.h"
#include "tests/places.h"
#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

constexpr i64 kSeq = 64, kVocab = 160;

// 12 conversations of 8 to 40 random tokens, with turns of user and assistant.
std::shared_ptr<const Conversations> made_up() {
  auto c = std::make_shared<Conversations>();
  std::mt19937 random(2);
  for (int i = 0; i < 12; ++i) {
    const int length = 8 + int(random() % 33);
    for (int k = 0; k < length; ++k) c->tokens.push_back(i32(random() % kVocab)), c->trained.push_back(k / 4 % 2 == 1);
    c->begins.push_back(i64(c->tokens.size()));
  }
  c->name = "made-up";
  return c;
}

Batch batch_of(const Dataset& set, i64 i) {
  Batch b;
  b.sequences = 1, b.seq_length = kSeq, b.longs("rows") = {0};
  for (const SampleArray& array : set.arrays()) b.arrays[array.name] = empty_array(array, 1);
  set.get(i, SampleRow(b, 0));
  return b;
}

// A small Llama with random weights, and its gradients.
class Model {
 public:
  explicit Model(const std::string& position = "rope") {
    StepSpec spec;
    ModelConfig m;
    m.num_layers = 2, m.hidden_size = 64, m.num_attention_heads = 4, m.num_query_groups = 2, m.ffn_hidden_size = 96;
    m.seq_length = m.max_position_embeddings = kSeq, m.vocab_size = kVocab;
    m.normalization = Normalization::rms_norm, m.activation = Activation::swiglu, m.add_bias_linear = false;
    m.position_embedding_type = position == "rope" ? PositionEmbedding::rope : PositionEmbedding::learned_absolute;
    m.init_method_std = 0.2;  // large enough that losses differ
    m.resolve();
    spec.model = std::make_shared<Gpt>(m, ParallelStyle{.pack_qkv = true}, GptData{true, true});
    spec.evaluate = true;
    spec.passes_off = {"mark-rows"};  // the tests read whole gradients
    step_ = plan_step(spec, *backend_);
    interpreter_ = backend_->make_interpreter(step_.plan, Coord{});
    ModelState(step_, *interpreter_).initialise(1);
  }

  double loss(const Batch& b) {
    Feed(step_.plan, step_.inputs, *interpreter_, Coord{})(b);
    interpreter_->run(program("evaluate"), true);
    return interpreter_->scalars(program("evaluate"), "loss")[0];
  }
  // Gradients of the sum of losses, for all parameters.
  std::vector<float> gradients(const Batch& b) {
    Feed(step_.plan, step_.inputs, *interpreter_, Coord{})(b);
    interpreter_->run(program("micro-batch"), true);
    std::vector<float> all;
    for (const Parameter& p : step_.parameters) {
      const Leaf& leaf = step_.plan.leaf(gradient_name(p.name));
      std::vector<float> one(size_t(leaf.type.elements()));
      interpreter_->read(leaf, one.data());
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

 private:
  int program(const std::string& name) const { return int(&step_.plan.program(name) - step_.plan.programs.data()); }

  static std::unique_ptr<Backend> cpu() {
    DeviceOptions options;
    options.device = "cpu";
    return make_backend(options);
  }

  std::unique_ptr<Backend> backend_ = cpu();
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
};

DataConfig sft_config(bool packing) {
  DataConfig c;
  c.seq_length = kSeq, c.eod = 2, c.sft_packing = packing;
  return c;
}

// The loss sum of each conversation, over its own tokens. The key is the conversation's tokens. The other content of
// its sample must not matter.
std::map<std::vector<i32>, double> losses(Model& model, bool packing) {
  const auto c = made_up();
  const SftDataset set({{c, {0, c->size()}, 0}}, sft_config(packing), std::nullopt);
  EXPECT_EQ(set.size() < 12, packing);
  std::map<std::vector<i32>, double> out;
  for (i64 i = 0; i < set.size(); ++i) {
    const Batch whole = batch_of(set, i);
    for (i32 begin = 0; begin < kSeq;) {
      i32 end = begin;
      while (end < kSeq && whole.ints("document_starts")[size_t(end)] == begin) ++end;
      Batch one = whole;
      for (i32 t = 0; t < kSeq; ++t)
        if (t < begin || t >= end) one.floats("loss_mask")[size_t(t)] = 0;
      const std::vector<i32> tokens(whole.ints("tokens").begin() + begin, whole.ints("tokens").begin() + end);
      if (std::ranges::count(one.floats("loss_mask"), 0.0f) < kSeq) out[tokens] = model.loss(one);
      begin = end;
    }
  }
  return out;
}

// The bound of rounding: a loss is a sum of at most 20 f32 terms of about 5. Each term depends on sums of at most 96
// products, in six products a layer. 1e-5 is 2^-17, which is 128 units in the last place.
TEST(Sft, PackedAndUnpackedLossesAreTheSame) {
  for (const char* position : {"rope", "learned"}) {
    Model model(position);
    const auto packed = losses(model, true), alone = losses(model, false);
    ASSERT_EQ(packed.size(), 12u);
    ASSERT_EQ(alone.size(), 12u);
    for (const auto& [tokens, loss] : alone) EXPECT_NEAR(packed.at(tokens) / loss, 1, 1e-5) << position;
  }
}

// User turns have no influence on the loss. Other labels there change no bit of loss and gradients, but one other label
// in an assistant turn does. Without assistant positions every gradient is exactly 0.
TEST(Sft, UserTurnsHaveNoGradient) {
  Model model;
  const auto c = made_up();
  const SftDataset set({{c, {0, c->size()}, 0}}, sft_config(true), std::nullopt);
  const Batch batch = batch_of(set, 0);
  const double loss = model.loss(batch);
  const std::vector<float> gradients = model.gradients(batch);
  EXPECT_GT(std::ranges::count_if(gradients, [](float g) { return g != 0; }), i64(gradients.size()) / 2);
  Batch other = batch;
  for (size_t t = 0; t < size_t(kSeq); ++t)
    if (batch.floats("loss_mask")[t] == 0) other.ints("labels")[t] = (batch.ints("labels")[t] + 37) % i32(kVocab);
  EXPECT_NE(other.ints("labels"), batch.ints("labels"));
  EXPECT_EQ(model.loss(other), loss);
  EXPECT_EQ(model.gradients(other), gradients);
  const size_t learned = size_t(std::ranges::find(batch.floats("loss_mask"), 1.0f) - batch.floats("loss_mask").begin());
  other.ints("labels")[learned] = (batch.ints("labels")[learned] + 1) % i32(kVocab);
  EXPECT_NE(model.loss(other), loss);
  EXPECT_NE(model.gradients(other), gradients);
  Batch users = batch;
  std::ranges::fill(users.floats("loss_mask"), 0.0f);
  EXPECT_EQ(model.loss(users), 0);
  EXPECT_EQ(model.gradients(users), std::vector<float>(gradients.size(), 0.0f));
}

class SftRun : public Workshop {
 protected:
  // A hub directory with a small Llama model, a tokenizer of letters and a chat template.
  std::string hub() {
    const std::string dir = *this / "hub";
    must(
        "pretrain-gpt --mock-data --tokenizer-type NullTokenizer --vocab-size 160 --num-layers 2 --hidden-size 64 "
        "--num-attention-heads 4 --group-query-attention --num-query-groups 2 --ffn-hidden-size 176 --swiglu "
        "--normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
        "--untie-embeddings-and-output-weights --init-method-std 0.05 --seq-length 256 --micro-batch-size 1 "
        "--train-iters 1 --lr 1e-9 --eval-iters 0 --save-interval 1 --save " +
        *this / "fresh");
    must("convert --load " + *this / "fresh" + " --to hf --no-load-optim --save " + dir);
    std::string vocabulary, added;
    int id = 0;
    for (const char* token : {"<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"}) {
      added += fmt::format(R"({}{{"id": {}, "content": "{}", "special": true}})", id ? ", " : "", id, token);
      vocabulary += fmt::format("{}\"{}\": {}", id ? ", " : "", token, id);
      ++id;
    }
    for (char c = '!'; c <= '~'; ++c) {
      const std::string escaped = c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
      vocabulary += fmt::format(", \"{}\": {}", escaped, id++);
    }
    vocabulary += fmt::format(", \"Ġ\": {}, \"Ċ\": {}", id, id + 1);
    spit(dir + "/tokenizer.json",
         fmt::format(R"({{"added_tokens": [{}], "pre_tokenizer": {{"type": "ByteLevel", "add_prefix_space": false}},
                         "decoder": {{"type": "ByteLevel"}}, "model": {{"type": "BPE", "vocab": {{{}}}, "merges": []}}}})",
                     added, vocabulary));
    spit(dir + "/tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "</s>", "chat_template":
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"})");
    return dir;
  }
  // Chats with questions whose answers can be learned.
  std::string chats() {
    std::string lines;
    for (int i = 0; i < 60; ++i)
      lines +=
          fmt::format(
              R"({{"messages": [{{"role": "user", "content": "say {0}{0}"}}, {{"role": "assistant", "content": "{0}"}}]}})",
              char('a' + i % 6)) +
          "\n";
    spit(*this / "chats.jsonl", lines);
    return *this / "chats.jsonl";
  }
  std::string flags(const std::string& dir, const std::string& more) {
    return "pretrain-gpt --sft --sft-tokenizer-prompt-format default --seq-length 128 --micro-batch-size 2 --lr 3e-3 "
           "--log-interval 1 --eval-iters 0 --split 1,0,0 --load " +
           dir + " " + more;
  }
};

TEST_F(SftRun, LearnsFromAHubDirectory) {
  const std::string dir = hub(), file = chats();
  const Ran ran =
      must(flags(dir, "--train-iters 40 --save-interval 40 --save " + *this / "ck" + " --data-path " + file));
  EXPECT_NE(ran.out.find("> SFT train: 60 conversations, "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(" % full\n"), std::string::npos);
  const double first = last_number(ran.out.substr(0, ran.out.find("\n", ran.out.find("lm loss: "))), "lm loss: ");
  EXPECT_GT(first, 4);
  EXPECT_LT(last_number(ran.out, "lm loss: "), 1);
  const auto loss_of = [](const std::string& text) { return last_number(text, "lm loss: "); };
  EXPECT_EQ(loss_of(must(flags(dir, "--train-iters 3 --num-workers 0 --data-path " + file)).out),
            loss_of(must(flags(dir, "--train-iters 3 --data-path " + file)).out));
  const Ran named =
      must(flags(dir,
                 "--train-iters 1 --no-sft-packing --sft-too-long skip --sft-tokenizer-prompt-format chatml "
                 "--tokenizer-type SFTTokenizer --tokenizer-model " +
                     dir + " --data-path " + file));
  EXPECT_NE(named.out.find(" in 60 samples of 128"), std::string::npos);
}

TEST_F(SftRun, SaysWhatIsWrong) {
  const std::string dir = hub(), file = chats();
  const std::string base = flags(dir, "--train-iters 1 ");
  expect_refused(base + "--mock-data", "--sft needs chats");
  expect_refused(base + "--data-path " + *this / "nothing.jsonl", "nothing.jsonl");
  expect_refused(base + "--sft-tokenizer-prompt-format alpaca --data-path " + file, "alpaca is not supported");
  spit(file, slurp(file) + "{\"messages\": 5}\n");
  expect_refused(base + "--data-path " + file, "chats.jsonl:61: no list \"messages\"");
  const Ran skipped = must(base + "--sft-skip-bad-lines --data-path " + file);
  EXPECT_NE((skipped.out + skipped.err).find("chats.jsonl: 1 lines are skipped"), std::string::npos);
  spit(file, "");
  expect_refused(base + "--data-path " + file, "chats.jsonl");
}

}  // namespace
}  // namespace megalith::test
