// A pipeline's stages drawn as text, Megatron's --pipeline-model-parallel-layout: "Et|(tt|)*3tL" is
// Et | tt | tt | tt | tL. E: embedding, t: a layer, m: a module of multi-token prediction, right before L, where they
// stand if none is drawn too, L: head and loss, |: the next virtual stage; *N repeats the letter, the bar or the group
// in parentheses before it. Commas and spaces mean nothing.
#pragma once
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// Layers of each virtual stage, in order; some may have none. Error, with the place, if the text is not of this form, E
// is not the first letter, L not the last. `modules` gets the number of those drawn.
std::vector<i64> parse_stage_layout(std::string_view text, i64* modules = nullptr);

// The same, for a model of so many layers on so many pipeline ranks. Error if the stages do not divide by the ranks, or
// if a rank would hold nothing. So are layers, or modules that it draws, that are not those of the text.
std::vector<i64> stages_of_layout(std::string_view text, i64 layers, i64 ranks, i64 depths = 0);

}  // namespace megalith
