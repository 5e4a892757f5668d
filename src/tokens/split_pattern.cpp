#include "tokens/split_pattern.h"

#include "base/check.h"
#include "tokens/cased_split.h"
#include "tokens/gpt2_split.h"
#include "tokens/llama_split.h"
#include "tokens/piece_encoder.h"

namespace megalith {

namespace {

struct Named {
  SplitPattern pattern;
  std::string_view name, regex;
};

constexpr Named kPatterns[] = {
    {SplitPattern::gpt2, "gpt2", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {SplitPattern::gpt2, "gpt2", R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {SplitPattern::llama3, "llama3",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::qwen, "qwen",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::cl100k, "cl100k",
     R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)"},
    {SplitPattern::o200k, "o200k",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::megatron_v1, "v1",
     R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::megatron_v2, "v2",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

struct NoSplit {
  explicit NoSplit(std::string_view text) : end(text.size()) {}
  size_t piece_end(size_t) const { return end; }
  size_t end;
};

template <class Split>
class ByteEncoder : public TextEncoder {
 public:
  explicit ByteEncoder(const ByteBpe& bpe) : pieces_(ByteBpeModel(bpe)) {}

  void encode(std::string_view text, std::vector<i32>& out) override {
    const Split split(text);
    const auto* bytes = reinterpret_cast<const u8*>(text.data());
    for (size_t i = 0; i < text.size();) {
      const size_t end = split.piece_end(i);
      pieces_.add(bytes + i, end - i, text.size() - i, out);
      i = end;
    }
    pieces_.flush(out);
  }

 private:
  PieceEncoder<ByteBpeModel> pieces_;
};

template <class Split>
std::unique_ptr<TextEncoder> make(const ByteBpe& bpe) {
  return std::make_unique<ByteEncoder<Split>>(bpe);
}

}  // namespace

SplitPattern split_pattern_of(std::string_view name, std::string_view flag) {
  std::string known;
  std::string_view last;
  for (const Named& p : kPatterns) {
    if (p.name == name) return p.pattern;
    if (p.name != last) known += fmt::format("{}{}", known.empty() ? "" : ", ", p.name);
    last = p.name;
  }
  fail("{} \"{}\" is not a pattern we have: use one of {}", flag, name, known);
}

SplitPattern known_pattern(std::string_view regex) {
  for (const Named& p : kPatterns) {
    if (p.regex == regex) return p.pattern;
  }
  return SplitPattern::none;
}

std::string_view regex_of(SplitPattern pattern) {
  for (const Named& p : kPatterns) {
    if (p.pattern == pattern) return p.regex;
  }
  return "";
}

std::unique_ptr<TextEncoder> make_byte_encoder(SplitPattern pattern, const ByteBpe& bpe) {
  switch (pattern) {
    case SplitPattern::gpt2:
      return make<Gpt2Split>(bpe);
    case SplitPattern::llama3:
      return make<Llama3Split>(bpe);
    case SplitPattern::qwen:
      return make<QwenSplit>(bpe);
    case SplitPattern::cl100k:
      return make<Cl100kSplit>(bpe);
    case SplitPattern::o200k:
      return make<O200kSplit>(bpe);
    case SplitPattern::megatron_v1:
      return make<MegatronV1Split>(bpe);
    case SplitPattern::megatron_v2:
      return make<MegatronV2Split>(bpe);
    case SplitPattern::none:
      break;
  }
  return make<NoSplit>(bpe);
}

}  // namespace megalith
