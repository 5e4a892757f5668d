// Classes of transformers that rebuild the tokenizer from the vocabulary and merges of a tokenizer.json. The
// normalizer, pre-tokenizer and decoder are then the class's, with settings of tokenizer_config.json. All other
// classes use the file unchanged.
#pragma once
#include <string>
#include <string_view>

#include "tokens/hf/json.h"

namespace megalith::hf {

// How a class adds its special tokens again at the end: without settings, or as in the files.
enum class AgainAs { no, plain, listed };

struct TokenizerClass {
  std::string_view name;
  std::string_view model;                               // JSON: settings of the BPE model
  std::string_view normalizer, pre_tokenizer, decoder;  // JSON, with {places} that `rebuild` fills
  std::string_view names;                               // JSON: special tokens if no file names them
  bool adds_prefix = false;                             // the default of add_prefix_space
  bool keeps_post_processor = true;                     // of the file
  AgainAs again = AgainAs::no;
};

// The class that transformers' AutoTokenizer uses for a directory. nullptr: a class that uses the file unchanged.
// config: tokenizer_config.json; has_bytes: tokenizer.json contains "ByteLevel".
const TokenizerClass* class_of(const Json& config, const Json& model_config, bool has_bytes);

const TokenizerClass* gpt2_class();  // for vocab.json and merges.txt if no file names a class

// Replaces the file's parts by those of the class. unknown: the unk_token.
void rebuild(Json& file, const TokenizerClass& c, const Json& config, std::string_view unknown, std::string_view where);

}  // namespace megalith::hf
