// The patterns that cut text into pieces before byte-pair encoding. Known ones have hand-written scanners; PCRE2 runs
// the others.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "tokens/byte_bpe.h"
#include "tokens/tokenizer.h"

namespace megalith {

enum class SplitPattern { gpt2, llama3, qwen, cl100k, o200k, megatron_v1, megatron_v2, none };

// The pattern with this name of a flag, e.g. "cl100k". Fails with the list of names if there is none.
SplitPattern split_pattern_of(std::string_view name, std::string_view flag);
// The pattern whose text equals `regex`. none if it is another.
SplitPattern known_pattern(std::string_view regex);
std::string_view regex_of(SplitPattern pattern);

// Splits and encodes text without special tokens. `bpe` must outlive it. `none`: the whole text is one piece.
std::unique_ptr<TextEncoder> make_byte_encoder(SplitPattern pattern, const ByteBpe& bpe);

}  // namespace megalith
