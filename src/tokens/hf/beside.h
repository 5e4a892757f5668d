// The files that accompany a tokenizer.json: tokenizer_config.json, special_tokens_map.json, added_tokens.json. Their
// precedence is that of transformers.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tokens/hf/added_tokens.h"
#include "tokens/hf/tokenizer_class.h"

namespace megalith::hf {

struct Beside {
  Json config;                              // tokenizer_config.json
  const TokenizerClass* made_by = nullptr;  // none: the file is used unchanged
  std::vector<std::pair<std::string, AddedToken>>
      named;               // bos_token and the like, then the model's own tokens, in order
  AddedList extra;         // special tokens without a name
  AddedList listed;        // by id, without the tokens of tokenizer.json
  bool lists_all = false;  // tokenizer_config.json has added_tokens_decoder: a class that rebuilds the tokenizer
                           // uses its tokens instead of the file's

  std::string name(std::string_view key) const;  // the token's text; empty if there is none
};

// folder: holds the files; a missing file is ignored. file: the tokenizer.json, or null.
Beside read_beside(const std::filesystem::path& folder, const Json& file);

// All added tokens in transformers' order: those of the file, and those of the accompanying files.
AddedList all_added(const Beside& beside, const Json& file, std::string_view where);

}  // namespace megalith::hf
