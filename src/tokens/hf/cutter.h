// Cutting pieces where delimiters were found.
#pragma once
#include "tokens/hf/pre_tokenizer.h"

namespace megalith::hf {

Behavior behavior_of(std::string_view name, std::string_view where);

// Appends to `out` the pieces that `piece` is cut into. `found`: the delimiters, as offsets within the piece, from left
// to right. invert: what is between them are the delimiters.
void cut(const Pieces::Piece& piece, const std::vector<Span>& found, Behavior behavior, bool invert,
         std::vector<Pieces::Piece>& out);

}  // namespace megalith::hf
