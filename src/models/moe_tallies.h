// The possible tallies of a mixture's steps (models/model.h), by layer. Layers are numbered from 0; the modules of
// multi-token prediction follow the last one.
#pragma once
#include "models/config.h"
#include "models/model.h"

namespace megalith {

std::vector<i64> mixture_layers(const ModelConfig& config);           // layers with experts
i64 mixture_layer(const ModelConfig& config, const Origin& at);       // number of the mixture layer with this origin
bool tallies_tokens(const MoeConfig& config, const BuildMode& mode);  // whether tokens of experts are counted
std::string tokens_tally(i64 layer);                                  // [experts]: tokens of each, after capacity
std::string loss_tally(const std::string& loss, i64 layer);           // []: a mean over data-parallel ranks

std::vector<TallySpec> mixture_tallies(const ModelConfig& config, const BuildMode& mode);

}  // namespace megalith
