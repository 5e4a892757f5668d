// Weights of a Hugging Face model directory <-> our logical parameters, one tensor at a time: memory beside the mapped
// files is that of the largest tensor.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "ckpt/hf_config.h"
#include "ckpt/hf_mapping.h"
#include "ckpt/safetensors.h"

namespace megalith {

// Gets each logical parameter, in the model's order; the values are valid during the call.
using LogicalSink = std::function<void(const std::string& name, const Shape& shape, std::span<const float> values)>;
// A tensor by its Hugging Face name, or nullopt.
using HfSource = std::function<std::optional<TensorView>(const std::string& name)>;

// Any tensors under Hugging Face names, e.g. gradients: [&](auto& n) { return files.view("grad." + n); }. Error lists
// missing tensors and other shapes.
void import_hf(const HfMapping& mapping, const HfSource& source, const std::string& where, const LogicalSink& sink);

// The weights of a model directory, with or without the usual name prefix, one file or sharded. Error: a table of
// missing, misshapen and unexpected tensors.
void import_hf(const std::string& dir, const HfConfig& config, const LogicalSink& sink);

// Error unless the files hold exactly the tensors of the mapping, whatever their spelling.
void check_hf_tensors(const TensorFiles& files, const HfMapping& mapping, const std::string& where);

struct HfExportOptions {
  std::optional<DType> type{};  // of all weights; none: each as it is stored
  i64 max_shard_bytes = 5'000'000'000;
};

// Writes config.json and the weights, in one file or, above max_shard_bytes, in shards with an index; holds one piece of
// bounded size at a time. `logical` has our parameters. Refuses a directory that already holds a model. config.json
// comes last: a directory without it is unfinished.
void export_hf(const std::string& dir, const HfConfig& config, std::shared_ptr<const TensorReader> logical,
               const HfExportOptions& options = {});
// The same with tensors and config.json as they are.
void export_hf_as_is(const std::string& dir, const std::string& config_json, const TensorReader& tensors,
                     const HfExportOptions& options = {});

}  // namespace megalith
