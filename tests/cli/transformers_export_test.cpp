// Exports of BERT and T5 models with random weights. transformers finds all weights, and has the same results in
// inference and training. A T5 gives the same answers. The test is skipped if Python has no transformers 5.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "tests/ckpt/torch/python.h"
#include "workshop.h"

namespace megalith::test {
namespace {

struct ExportedRun {
  const char *name, *words;
};

const ExportedRun kExportedRuns[] = {
    {"bert", "pretrain-bert --num-layers 2 --seq-length 24 --gelu --bert-post-norm --embedding-layernorm"},
    {"bert_masked_lm",
     "pretrain-bert --num-layers 1 --seq-length 24 --gelu --bert-post-norm --embedding-layernorm "
     "--bert-no-binary-head --bert-token-types 1 --untie-embeddings-and-output-weights"},
    {"megatron_bert", "pretrain-bert --num-layers 2 --seq-length 24 --gelu --norm-epsilon 1e-12"},
    {"megatron_bert_untied",
     "pretrain-bert --num-layers 1 --seq-length 24 --gelu --untie-embeddings-and-output-weights"},
    {"t5_v10",
     "pretrain-t5 --encoder-num-layers 2 --decoder-num-layers 1 --encoder-seq-length 32 --decoder-seq-length 24 "
     "--position-embedding-type relative --relative-attention-num-buckets 8 --relative-attention-max-distance 20 "
     "--normalization RMSNorm --norm-epsilon 1e-6 --disable-bias-linear --activation relu --unscaled-attention "
     "--no-head-bias --scale-decoder-outputs"},
    {"t5_v11",
     "pretrain-t5 --encoder-num-layers 1 --decoder-num-layers 2 --encoder-seq-length 32 --decoder-seq-length 24 "
     "--kv-channels 6 --position-embedding-type relative --relative-attention-num-buckets 10 "
     "--relative-attention-max-distance 14 --normalization RMSNorm --norm-epsilon 1e-6 --disable-bias-linear --geglu "
     "--untie-embeddings-and-output-weights --unscaled-attention"},
};

class TransformersExport : public Workshop {
 protected:
  void expect_agreement(const std::string& hf) {
    const Ran ran = run_program("golden-check", {hf, "--device", "cpu"});
    EXPECT_EQ(ran.exit_code, 0) << hf << "\n" << ran.out << ran.err;
    for (const char* line : {"logits", "loss", "gradient ", "step 10 loss", "step 10 gradient norm"})
      EXPECT_NE(ran.out.find(std::string("pass  ") + line), std::string::npos) << hf << " " << line;
  }

  // The answers of transformers with the export must equal the run's, from the first token of its samples.
  void expect_same_answers(const std::string& run, const std::string& hf) {
    const auto end = nlohmann::json::parse(slurp(hf + "/config.json")).at("eos_token_id").get<i32>();
    for (const auto& c : nlohmann::json::parse(slurp(hf + "/greedy.json"))) {
      auto want = c.at("answer").get<std::vector<i32>>();
      if (!want.empty() && want.back() == end) want.pop_back();
      const std::string text = fmt::format("{}", fmt::join(c.at("text").get<std::vector<i32>>(), " "));
      const Ran ran = run_program("megalith", {"generate", "--device", "cpu", "--greedy", "--tokens-to-generate", "12",
                                               "--load", run, "--prompt", text});
      EXPECT_EQ(ran.out, fmt::format("{}\n", fmt::join(want, " "))) << run << ran.err;
    }
  }
};

TEST_F(TransformersExport, ComputesTheSame) {
  if (!python_has("torch, safetensors, transformers; assert int(transformers.__version__[0]) >= 5"))
    GTEST_SKIP() << python() << " has no transformers 5";
  std::vector<std::string> exports;
  for (const auto& [name, words] : kExportedRuns) {
    must(
        fmt::format("{} --device cpu --mock-data --vocab-size 61 --hidden-size 16 --num-attention-heads 2 "
                    "--ffn-hidden-size 28 --init-method-std 0.2 --micro-batch-size 4 --lr 1e-2 --train-iters 3 "
                    "--eval-iters 0 --no-progress --save {} --save-interval 3",
                    words, *this / name));
    exports.push_back(*this / (std::string(name) + "-hf"));
    must("convert --load " + *this / name + " --to hf --save " + exports.back());
  }
  ASSERT_EQ(run_python("../../cli/golden_of_export.py", exports, *this / "python.log"), "");
  for (size_t i = 0; i < exports.size(); ++i) {
    expect_agreement(exports[i]);
    if (std::string(kExportedRuns[i].name).starts_with("t5"))
      expect_same_answers(*this / kExportedRuns[i].name, exports[i]);
  }
}

// This test needs no Python. The ids in the files must equal those of the samples.
TEST_F(TransformersExport, AT5TellsWhatItsSamplesBeginWith) {
  spit(*this / "vocab.txt", "[UNK]\nthe\n[PAD]\n.\n[SEP]\n##s\n[MASK]\n[CLS]\nfox\n");
  spit(*this / "text.jsonl", "{\"text\": \"the fox. the fox the foxs. the fox.\"}\n");
  const std::string words = " --tokenizer-type BertWordPieceLowerCase --vocab-file " + *this / "vocab.txt ";
  must("preprocess-data --split-sentences --input " + *this / "text.jsonl" + " --output-prefix " + *this / "d" + words);
  must(std::string(kExportedRuns[5].words) + words + "--vocab-extra-ids 10 --device cpu --hidden-size 16 " +
       "--num-attention-heads 2 --micro-batch-size 1 --lr 1e-2 --train-iters 1 --eval-iters 0 --split 1,0,0 " +
       "--data-path " + *this / "d_text_sentence" + " --save " + *this / "run --save-interval 1");
  must("convert --load " + *this / "run" + " --to hf --save " + *this / "hf");
  for (const char* file : {"hf/config.json", "hf/generation_config.json"}) {
    const auto told = nlohmann::json::parse(slurp(*this / file));
    EXPECT_EQ(told.at("decoder_start_token_id"), 7) << file;
    EXPECT_EQ(told.at("eos_token_id"), 4) << file;
    EXPECT_EQ(told.at("pad_token_id"), 2) << file;
  }
  // The export is enough to read and answer like the run, because its tokenizer has the sentinels.
  const auto tokens = nlohmann::json::parse(slurp(*this / "hf/tokenizer_config.json")).at("additional_special_tokens");
  EXPECT_EQ(tokens.size(), 10U);
  EXPECT_EQ(tokens.at(9), "<extra_id_9>");
  const auto answer = [&](const std::string& model) {
    const Ran ran = run_program("megalith", {"generate", "--device", "cpu", "--greedy", "--tokens-to-generate", "12",
                                             "--load", *this / model, "--prompt", "The <extra_id_3> fox ."});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.out;
  };
  EXPECT_EQ(answer("hf"), answer("run"));
  // A conversion to the native format and back keeps the original start token.
  must("convert --load " + *this / "hf" + " --to native --save " + *this / "back");
  must("convert --load " + *this / "back" + " --to hf --save " + *this / "again");
  EXPECT_EQ(nlohmann::json::parse(slurp(*this / "again/config.json")).at("decoder_start_token_id"), 7);
}

}  // namespace
}  // namespace megalith::test
