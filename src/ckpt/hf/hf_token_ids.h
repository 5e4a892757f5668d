// Which tokens begin and end a text, by the files of a Hugging Face model.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ckpt/hf/hf_config.h"

namespace megalith {

class JsonFields;

// bos, eos and pad of config.json. An absent key means the default of the family's class; null means none.
void read_token_ids(const JsonFields& f, HfConfig& c);

// All end-of-text tokens, from a config.json text ("": none), or from generation_config.json in `dir` if it exists.
// Defaults of the class count only if the other file names none, as in transformers.
std::vector<i64> hf_ends_of_text(const std::string& dir, const std::string& config);

// The token that a decoder's text begins with by the text of a config.json; none if it does not say.
std::optional<i64> hf_decoder_start(const std::string& config);

// The default first token of a T5's answers.
inline constexpr i64 kT5Start = 0;

// Text of a generation_config.json with the ids of config.json.
inline constexpr const char* kGenerationConfig = "generation_config.json";
std::string write_generation_config(const HfConfig& config);

}  // namespace megalith
