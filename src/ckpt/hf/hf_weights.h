// Weights of a Hugging Face model directory <-> our logical parameters, read and written in chunks.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ckpt/hf/hf_config.h"
#include "ckpt/tensors/safetensors.h"
#include "ckpt/tensors/tensor_reader.h"

namespace megalith {

// The tensors that `wanted` likes, under the files' names. `past_cache`: see TensorStore.
std::shared_ptr<const TensorReader> read_hf_files(const TensorFiles& files,
                                                  const std::function<bool(const TensorInfo&)>& wanted,
                                                  bool past_cache = false);

// Our parameters of a model's files, with or without the usual name prefix, one file or sharded. Error: a table of
// missing, misshapen and unexpected tensors, or a weight whose type is no float.
std::shared_ptr<const TensorReader> read_hf_weights(const TensorFiles& files, const HfConfig& config,
                                                    bool past_cache = false);

struct HfExportOptions {
  std::optional<DType> type{};  // of all weights; none: each keeps its stored type
  i64 max_shard_bytes = 5'000'000'000;
  std::function<void()> still_ours = [] {};     // asked before a file appears, as SaveOptions' is
  std::function<void()> before_config = [] {};  // writes the model's other files
};

// Writes config.json and the weights: one file or, above max_shard_bytes, shards with an index. Holds one chunk of
// bounded size at a time. `logical` has our parameters. Refuses a directory that already has a model. All files are
// renamed at the end, config.json last: without it a directory is incomplete. Partial files of a killed process are
// removed.
void export_hf(const std::string& dir, const HfConfig& config, std::shared_ptr<const TensorReader> logical,
               const HfExportOptions& options = {});
// The same with tensors and config.json as they are.
void export_hf_as_is(const std::string& dir, const std::string& config_json, const TensorReader& tensors,
                     const HfExportOptions& options = {});

}  // namespace megalith
