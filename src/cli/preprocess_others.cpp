#include "cli/preprocess_others.h"

#include <vector>

namespace megalith {
namespace {

using Takes = config::OtherFlag::Takes;

struct OtherFlag {
  const char* flag;
  Takes takes;
  const char* why;
};

constexpr const char* kThreads = "threads share all work, and the output is the same for any number of --workers";
constexpr const char* kFormat = "there is one format, which is memory-mapped";
constexpr const char* kNoModel = "files hold token ids; no model is trained";
constexpr const char* kNoPython = "tokenizers are read from their files";

constexpr OtherFlag kAcceptedFlags[] = {
    {"--find-optimal-num-workers", Takes::nothing, kThreads},
    {"--workers-to-check", Takes::many, kThreads},
    {"--max-documents", Takes::one, kThreads},
    {"--chunk-size", Takes::one, kThreads},
    {"--dataset-impl", Takes::one, kFormat},
    {"--make-vocab-size-divisible-by", Takes::one, kNoModel},
    {"--padded-vocab-size", Takes::one, kNoModel},
    {"--tensor-model-parallel-size", Takes::one, kNoModel},
    {"--pipeline-model-parallel-size", Takes::one, kNoModel},
    {"--seq-length", Takes::one, kNoModel},
    {"--rank", Takes::one, kNoModel},
    {"--tokenizer-hf-no-use-fast", Takes::nothing, kNoPython},
    {"--trust-remote-code", Takes::nothing, kNoPython},
    {"--legacy-tokenizer", Takes::nothing, kNoPython},
    {"--use-gigatoken", Takes::nothing, kNoPython},
    {"--no-pad-vocab-size", Takes::nothing, kNoModel},
    {"--chat-template", Takes::one, "documents are not chats: `pretrain-gpt --sft` reads chat files directly"},
};

constexpr OtherFlag kRefusedFlags[] = {
    {"--tokenizer-metadata", Takes::one, "this tokenizer setting is not built yet"},
    {"--tokenizer-special-tokens", Takes::many,
     "use --tiktoken-special-tokens with TikTokenizer; other tokenizers have theirs in their files"},
    {"--no-tokenizer-sentencepiece-ignore-extra-whitespaces", Takes::nothing,
     "this tokenizer setting is not built yet"},
    {"--tokenizer-sentencepiece-legacy", Takes::nothing, "this tokenizer setting is not built yet"},
    {"--tokenizer-name-or-path", Takes::one, "use --tokenizer-type HuggingFaceTokenizer --tokenizer-model"},
    {"--merges", Takes::one, "use --merge-file"},
    {"--tokenizer-library", Takes::one, "use --tokenizer-type, which names library and kind"},
};

}  // namespace

std::span<const config::OtherFlag> preprocess_others() {
  static const std::vector<config::OtherFlag> flags = [] {
    std::vector<config::OtherFlag> all;
    for (const OtherFlag& r : kAcceptedFlags)
      all.push_back({.flag = r.flag, .accepted = true, .takes = r.takes, .why = r.why});
    for (const OtherFlag& r : kRefusedFlags)
      all.push_back({.flag = r.flag, .accepted = false, .takes = r.takes, .why = r.why});
    return all;
  }();
  return flags;
}

}  // namespace megalith
