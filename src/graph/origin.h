// The origin of a node in a model, or in a step.
#pragma once
#include <string>

#include "base/dtype.h"

namespace megalith {

struct Origin {
  std::string module = {};     // "attention", "mlp", "embedding", "gradient norm"
  i64 layer = -1;              // of a stack; -1: of none
  std::string stack = {};      // which, where a model has several: "encoder"
  bool recomputed = false;     // a repetition that the pass `recompute` made
  bool norm = false;           // the module's norm: of its input from the stream, or of its output
  bool up_projection = false;  // of multi-head latent attention: computes queries, keys and values from the latents
  bool operator==(const Origin&) const = default;
};

// "layer 3 mlp again", "layer 3 mlp norm", "encoder layer 0 attention", "optimizer"
std::string to_string(const Origin& origin);

}  // namespace megalith
