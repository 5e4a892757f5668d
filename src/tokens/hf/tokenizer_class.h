// Classes of transformers that make the tokenizer anew from the vocabulary and merges of a tokenizer.json: its
// normalizer, pre-tokenizer and decoder are then the class's, with settings of tokenizer_config.json. All other classes
// take the file as it is.
#pragma once
#include <string>
#include <string_view>

#include "tokens/hf/json.h"

namespace megalith::hf {

// How a class adds its special tokens once more at the end: as tokens without settings, or as the files list them.
enum class AgainAs { no, plain, listed };

struct TokenizerClass {
  std::string_view name;
  std::string_view model;                               // JSON: settings of the BPE model
  std::string_view normalizer, pre_tokenizer, decoder;  // JSON, with {places} that `rebuild` fills
  std::string_view names;                               // JSON: special tokens where no file names them
  bool adds_prefix = false;                             // add_prefix_space where it is not said
  bool keeps_post_processor = true;                     // of the file
  AgainAs again = AgainAs::no;
};

// The class that transformers' AutoTokenizer takes for a directory; nullptr: one that takes the file as it is. config:
// tokenizer_config.json; has_bytes: "ByteLevel" stands in tokenizer.json.
const TokenizerClass* class_of(const Json& config, const Json& model_config, bool has_bytes);

const TokenizerClass* gpt2_class();  // of vocab.json and merges.txt where nothing names a class

// Puts the class's parts into the file. unknown: the unk_token.
void rebuild(Json& file, const TokenizerClass& c, const Json& config, std::string_view unknown, std::string_view where);

}  // namespace megalith::hf
