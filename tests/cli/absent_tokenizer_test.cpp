// Plans with a tokenizer whose files do not exist. The plan has the vocabulary size of a public model if its name is
// known.
#include "workshop.h"

namespace megalith::test {
namespace {

class AbsentTokenizer : public Workshop {
 protected:
  static Ran plan(const std::string& tokenizer) {
    return megalith(
        "pretrain-gpt --device cpu --dry-run --mock-data --num-layers 1 --hidden-size 64 --num-attention-heads 2 "
        "--seq-length 32 --micro-batch-size 1 --train-iters 1 --lr 1e-3 --tokenizer-type " +
        tokenizer);
  }
};

// These are the vocabulary sizes of the tokenizers, not the padded sizes of the models.
TEST_F(AbsentTokenizer, HasTheVocabularyOfItsModel) {
  const std::pair<const char*, const char*> cases[] = {
      {"HuggingFaceTokenizer --tokenizer-model meta-llama/Meta-Llama-3-8B", "128256"},
      {"HuggingFaceTokenizer --tokenizer-model meta-llama/Llama-3.1-405B-Instruct", "128256"},
      {"HuggingFaceTokenizer --tokenizer-model meta-llama/Llama-2-7b-hf", "32000"},
      {"HuggingFaceTokenizer --tokenizer-model mistralai/Mistral-7B-Instruct-v0.2", "32000"},
      {"HuggingFaceTokenizer --tokenizer-model Qwen/Qwen1.5-7B", "151646"},
      {"HuggingFaceTokenizer --tokenizer-model Qwen/Qwen2-7B", "151646"},
      {"HuggingFaceTokenizer --tokenizer-model Qwen/Qwen2.5-7B", "151665"},
      {"HuggingFaceTokenizer --tokenizer-model Qwen/Qwen3-30B-A3B", "151669"},
      {"HuggingFaceTokenizer --tokenizer-model EleutherAI/pythia-1b", "50277"},
      {"SentencePieceTokenizer --tokenizer-model /nowhere/llama2/tokenizer.model", "32000"},
      {"Llama2Tokenizer --tokenizer-model /nowhere/tokenizer.model", "32000"},
      {"Llama3Tokenizer --tokenizer-model /nowhere/tokenizer.model", "128256"},
      {"GPT2BPETokenizer --vocab-file /nowhere/v.json --merge-file /nowhere/m.txt", "50257"},
      {"BertWordPieceLowerCase --vocab-file /nowhere/vocab.txt", "30522"},
      {"BertWordPieceCase --vocab-file /nowhere/bert-large-cased-vocab.txt", "28996"}};
  for (const auto& [tokenizer, entries] : cases) {
    const Ran ran = plan(tokenizer);
    EXPECT_EQ(ran.exit_code, 0) << tokenizer << ran.err;
    EXPECT_NE(
        ran.out.find("does not exist: the plan uses its public vocabulary of " + std::string(entries) + " entries"),
        std::string::npos)
        << tokenizer << ran.out.substr(0, 500);
  }
}

// The size is not guessed for a name that only resembles a model's, or for a type with several vocabularies.
TEST_F(AbsentTokenizer, IsNotGuessed) {
  for (const char* tokenizer :
       {"HuggingFaceTokenizer --tokenizer-model Qwen/Qwen3.5-9B",
        "HuggingFaceTokenizer --tokenizer-model Qwen/Qwen2-VL-7B",
        "HuggingFaceTokenizer --tokenizer-model mistralai/Mistral-7B-v0.3",
        "HuggingFaceTokenizer --tokenizer-model meta-llama/Llama-3.2-11B-Vision",
        "HuggingFaceTokenizer --tokenizer-model rinna/japanese-gpt2-medium",
        "HuggingFaceTokenizer --tokenizer-model uer/gpt2-chinese-cluecorpussmall",
        "SentencePieceTokenizer --tokenizer-model /nowhere/my-llama-3-experiment/tokenizer.model",
        "BertWordPieceCase --vocab-file /nowhere/bert-base-multilingual-cased-vocab.txt"}) {
    const Ran ran = plan(tokenizer);
    EXPECT_NE(ran.exit_code, 0) << tokenizer;
    EXPECT_EQ(ran.out.find("public vocabulary"), std::string::npos) << tokenizer;
  }
}

}  // namespace
}  // namespace megalith::test
