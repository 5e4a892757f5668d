#include "cli/generate_others.h"

#include <vector>

namespace megalith {
namespace {

using Takes = config::OtherFlag::Takes;

struct GenerateFlag {
  const char* flag;
  Takes takes;
  const char* why;
};

constexpr const char* kTokens = "use --tokens-to-generate N";
constexpr const char* kNoServer = "there is no server and no batch: one --prompt is continued";
constexpr const char* kStored = "the checkpoint has the model's shape";
constexpr const char* kNoSequence = "the tokens of one prompt are not split over ranks";

constexpr GenerateFlag kRefusedToGenerate[] = {
    {"--num-tokens-to-generate", Takes::one, kTokens},
    {"--max-new-tokens", Takes::one, kTokens},
    {"--max-tokens", Takes::one, kTokens},
    {"--max-length", Takes::one, kTokens},
    {"--max_new_tokens", Takes::one, kTokens},
    {"--max_length", Takes::one, kTokens},
    {"--out-seq-length", Takes::one, kTokens},
    {"--prompts", Takes::many, "use --prompt TEXT"},
    {"--model", Takes::one, "use --load DIR"},
    {"--model-path", Takes::one, "use --load DIR"},
    {"--port", Takes::one, kNoServer},
    {"--max-batch-size", Takes::one, kNoServer},
    {"--return-log-probs", Takes::nothing, kNoServer},
};

constexpr GenerateFlag kAcceptedToGenerate[] = {
    {"--num-layers", Takes::one, kStored},
    {"--hidden-size", Takes::one, kStored},
    {"--num-attention-heads", Takes::one, kStored},
    {"--seq-length", Takes::one, kStored},
    {"--max-position-embeddings", Takes::one, kStored},
    {"--micro-batch-size", Takes::one, kStored},
    {"--use-checkpoint-args", Takes::nothing, kStored},
    {"--sequence-parallel", Takes::nothing, kNoSequence},
};

}  // namespace

std::span<const config::OtherFlag> generate_others() {
  static const std::vector<config::OtherFlag> flags = [] {
    std::vector<config::OtherFlag> all;
    for (const GenerateFlag& r : kRefusedToGenerate)
      all.push_back({.flag = r.flag, .accepted = false, .takes = r.takes, .why = r.why});
    for (const GenerateFlag& r : kAcceptedToGenerate)
      all.push_back({.flag = r.flag, .accepted = true, .takes = r.takes, .why = r.why});
    return all;
  }();
  return flags;
}

}  // namespace megalith
