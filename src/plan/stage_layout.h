// A pipeline's stages drawn as text, Megatron's --pipeline-model-parallel-layout: "Et|(tt|)*3tL" is
// Et | tt | tt | tt | tL. E: embedding, t: a layer, m: a module of multi-token prediction, right before L, where they
// stand if none is drawn too, L: head and loss, |: the next virtual stage; *N repeats the letter, the bar or the group
// in parentheses before it. Commas and spaces mean nothing. Of an encoder-decoder e is a layer of the encoder, d one of
// the decoder, and another E may stand where the decoder begins: "Ee|e|Ed|dL". t is either, in their order.
#pragma once
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// What a layout draws, or is to draw.
struct DrawnLayers {
  i64 layers = 0;   // of an encoder-decoder those of its encoder
  i64 decoder = 0;  // and of its decoder
  i64 modules = 0;  // of multi-token prediction
};

// Layers of each virtual stage, in order; some may have none. Error, with the place, if the text is not of this form, E
// is not the first letter, L not the last. `drawn` gets what it draws; t counts as a layer that is no decoder's.
std::vector<i64> parse_stage_layout(std::string_view text, DrawnLayers* drawn = nullptr);

// The same, for a model of so many layers on so many pipeline ranks. Error if the stages do not divide by the ranks, or
// if a rank would hold nothing. So are layers, or modules that it draws, that are not those of the text.
std::vector<i64> stages_of_layout(std::string_view text, const DrawnLayers& model, i64 ranks);

}  // namespace megalith
