// Tiktoken's vocabularies: the bytes of each token, by rank. Two neighbours may merge if their joined bytes are a
// token, the lowest rank first. A piece that is a token stays whole.
#pragma once
#include <string>
#include <vector>

#include "tokens/byte_bpe.h"

namespace megalith {

std::string decode_base64(std::string_view text, const std::string& where);

// A file with one "base64 rank" per line. Ranks may have holes, which become empty tokens.
std::vector<std::string> read_ranks(const std::string& file);

// The merges of tokens with ranks; ids are rank + first_id. `file`: its name, for errors. All 256 single bytes must
// be tokens.
ByteBpe bpe_of_ranks(const std::vector<std::string>& tokens, i32 first_id, const std::string& file);

}  // namespace megalith
