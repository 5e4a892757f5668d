// Cuts pieces at delimiters.
#pragma once
#include "tokens/hf/pre_tokenizer.h"

namespace megalith::hf {

Behavior behavior_of(std::string_view name, std::string_view where);

// Cuts `piece`, and appends the results to `out`. `found`: the delimiters, as offsets in the piece, from left to
// right. invert: the text between them is the delimiters.
void cut(const Pieces::Piece& piece, const std::vector<Span>& found, Behavior behavior, bool invert,
         std::vector<Pieces::Piece>& out);

}  // namespace megalith::hf
