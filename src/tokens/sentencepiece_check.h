// What SentencePiece's library trusts in a .model file without looking.
#pragma once
#include <string>
#include <string_view>

namespace megalith {

// Fails, naming `file`, if the bytes are not a protobuf message, or the table of replacements in it would lead the
// library out of its memory.
void check_sentencepiece_model(std::string_view bytes, const std::string& file);

}  // namespace megalith
