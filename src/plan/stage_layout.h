// A pipeline's stages as text, Megatron's --pipeline-model-parallel-layout: "Et|(tt|)*3tL" is Et | tt | tt | tt | tL.
// E: embedding, t: a layer, L: head and loss, |: the next virtual stage. m: a module of multi-token prediction,
// before L; if the text has none, all modules are there. *N repeats the preceding letter, bar or group in
// parentheses. Commas and spaces are ignored. For an encoder-decoder e is a layer of the encoder, d one of the decoder.
// Another E may mark the start of the decoder: "Ee|e|Ed|dL". t is either, in their order.
#pragma once
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// The number of layers that a layout has, or must have.
struct DrawnLayers {
  i64 layers = 0;   // in an encoder-decoder: layers of its encoder
  i64 decoder = 0;  // layers of its decoder
  i64 modules = 0;  // modules of multi-token prediction
};

// Layers of each virtual stage, in order; some may have none. Error, with the position, if the text has another form.
// Also if E is not the first letter or L not the last. `drawn` gets the layout's layers; t counts as a layer outside of
// a decoder.
std::vector<i64> parse_stage_layout(std::string_view text, DrawnLayers* drawn = nullptr);

// The same, for a model with this many layers on this many pipeline ranks. Error if the ranks do not divide the stages,
// or if a rank would have nothing. Also if the text's layers or modules differ from the model's.
std::vector<i64> stages_of_layout(std::string_view text, const DrawnLayers& model, i64 ranks);

}  // namespace megalith
