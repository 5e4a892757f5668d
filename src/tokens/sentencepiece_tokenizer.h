// Tokenizers of SentencePiece's .model files, through its library.
#pragma once
#include <memory>

#include "tokens/tokenizer.h"

namespace megalith {

// --tokenizer-model: a .model file. The ids and the vocabulary are the file's; nothing is added to a text.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const TokenizerConfig& config);

}  // namespace megalith
