#include "config/other_files.h"

#include <algorithm>

namespace megalith::config {
namespace {

// A file with all of `keys` is of this kind.
struct Kind {
  std::vector<std::string_view> keys;
  const char* what;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {{"architectures", "model_type"}, "a model's own config.json: give its directory, --load DIR"},
      {{"pipe_parallel_size"}, "a file of GPT-NeoX, whose names and defaults differ: write its settings as flags"},
      {{"zero_optimization", "train_micro_batch_size_per_gpu", "optimizer", "num_layers"},
       "a file of GPT-NeoX, whose names and defaults differ: write its settings as flags"},
      {{"zero_optimization"}, "DeepSpeed's file: its settings are flags here"},
      {{"train_micro_batch_size_per_gpu"}, "DeepSpeed's file: its settings are flags here"},
      {{"modules", "exp_name"},
       "an experiment of Primus: put what stands below `overrides`, and the settings of its `model` file, into a file"},
      {{"trainer", "model"}, "a file of NeMo: give its settings as model.x=y, and the line with our flags is told"},
      {{"model_name_or_path"},
       "a file of a trainer of Hugging Face models: write its settings as flags, with --load DIR"},
      {{"base_model"}, "a file of a trainer of Hugging Face models: write its settings as flags, with --load DIR"},
  };
  return all;
}

}  // namespace

std::string other_file(const std::vector<std::string>& keys) {
  const auto has = [&](std::string_view key) {
    return std::ranges::any_of(keys, [&](std::string other) {
      std::ranges::replace(other, '-', '_');
      return other == key;
    });
  };
  for (const Kind& kind : kinds())
    if (std::ranges::all_of(kind.keys, has)) return kind.what;
  return {};
}

}  // namespace megalith::config
