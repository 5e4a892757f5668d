// Makes the model of the architecture that a config names.
#pragma once
#include <memory>

#include "models/gpt/gpt.h"

namespace megalith {

// `config` must be resolved. `data`: for a decoder.
std::shared_ptr<const Model> make_model(const ModelConfig& config, const ParallelStyle& style = {},
                                        const GptData& data = {});

}  // namespace megalith
