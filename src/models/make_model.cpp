#include "models/make_model.h"

#include "models/bert/bert.h"
#include "models/retro/retro.h"
#include "models/t5/t5.h"

namespace megalith {
namespace {

using Made = std::shared_ptr<const Model>;
using Make = Made (*)(const ModelConfig&, const ParallelStyle&, const GptData&);

// Indexed by Architecture.
constexpr Make kMakers[] = {
    [](const ModelConfig& c, const ParallelStyle& style, const GptData& data) -> Made {
      return std::make_shared<Gpt>(c, style, data);
    },
    [](const ModelConfig& c, const ParallelStyle& style, const GptData&) -> Made {
      return std::make_shared<Bert>(c, style);
    },
    [](const ModelConfig& c, const ParallelStyle& style, const GptData&) -> Made {
      return std::make_shared<T5>(c, style);
    },
    [](const ModelConfig& c, const ParallelStyle& style, const GptData& data) -> Made {
      if (c.retro.add_retriever) return std::make_shared<Retro>(c, style);
      return std::make_shared<Gpt>(c, style, data);
    },
};

}  // namespace

std::shared_ptr<const Model> make_model(const ModelConfig& config, const ParallelStyle& style, const GptData& data) {
  return kMakers[size_t(config.architecture)](config, style, data);
}

}  // namespace megalith
