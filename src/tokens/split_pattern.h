// The patterns that cut text into pieces before byte-pair encoding: the well-known ones have scanners of their own,
// others go through PCRE2.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "tokens/byte_bpe.h"
#include "tokens/tokenizer.h"

namespace megalith {

enum class SplitPattern { gpt2, llama3, qwen, cl100k, o200k, megatron_v1, megatron_v2, none };

// The name that flags use, e.g. "cl100k"; fails with the known names if there is no such pattern.
SplitPattern split_pattern_of(std::string_view name, std::string_view flag);
// The pattern whose text is `regex` letter by letter; none if it is another.
SplitPattern known_pattern(std::string_view regex);
std::string_view regex_of(SplitPattern pattern);

// Splits and encodes text without special tokens; `bpe` must outlive it. `none`: the whole text is one piece.
std::unique_ptr<TextEncoder> make_byte_encoder(SplitPattern pattern, const ByteBpe& bpe);

}  // namespace megalith
