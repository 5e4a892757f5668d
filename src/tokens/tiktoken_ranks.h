// Tiktoken's vocabularies: the bytes of each token, by rank. Any two neighbours whose bytes together are a token may
// merge, the lowest rank first; a piece that is a token is taken whole.
#pragma once
#include <string>
#include <vector>

#include "tokens/byte_bpe.h"

namespace megalith {

std::string decode_base64(std::string_view text, const std::string& where);

// A file with one "base64 rank" per line. Ranks may leave holes: those tokens are empty.
std::vector<std::string> read_ranks(const std::string& file);

// The merges of ranked tokens, whose ids are rank + first_id; `file` names them in errors. All 256 single bytes must be
// tokens.
ByteBpe bpe_of_ranks(const std::vector<std::string>& tokens, i32 first_id, const std::string& file);

}  // namespace megalith
