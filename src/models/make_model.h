// A model of the architecture that its config names.
#pragma once
#include <memory>

#include "models/gpt/gpt.h"

namespace megalith {

// `config` must be resolved. `data`: of a decoder.
std::shared_ptr<const Model> make_model(const ModelConfig& config, const ParallelStyle& style = {},
                                        const GptData& data = {});

}  // namespace megalith
