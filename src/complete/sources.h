// What the files say that a command's options name: the model of --load, and the tokenizer. They are read once, before
// complete/complete_options.h completes the options.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "complete/tokenizer_source.h"
#include "resume/stored_model.h"
#include "settings/options.h"

namespace megalith {

struct Sources {
  std::string load{};                   // --load; the folder of the hub's cache if it is a name
  std::optional<StoredModel> stored{};  // of --load or the run's copies; none if there is none
  TokenizerSource tokenizer{};
  std::vector<std::string> mistakes{};  // what could not be read
  bool knows_model = true;              // false: --load could not be read, and the flags describe no model
};

// Whether the flags describe the model (--num-layers). If not, --load does.
bool flags_describe_model(const Options& options);

Sources read_sources(const Options& options);

}  // namespace megalith
