// Tokenizers from SentencePiece's .model files, by its library.
#pragma once
#include <memory>

#include "tokens/tokenizer.h"

namespace megalith {

// --tokenizer-model: a .model file. Ids and vocabulary are those of the file. It adds no special tokens.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const TokenizerConfig& config);

}  // namespace megalith
