// Tensors of a Megatron Core case by its module names, and ours.
#pragma once
#include <map>

#include "ckpt/tensors/mapped_tensors.h"
#include "models/config.h"
#include "step/model_state.h"

namespace megalith {

class MegatronNames {
 public:
  // Error if the tensors of the file `path` do not fit the model.
  MegatronNames(const std::string& path, const ModelConfig& model);

  void load(ModelState& model) const;
  const TensorMapping& mapping() const { return mapping_; }
  // The index in mapping().theirs of a tensor with this name in the file. Empty: the model has no such tensor.
  std::optional<size_t> find(const std::string& name) const;

 private:
  std::string path_;
  TensorMapping mapping_;
  std::map<std::string, std::string> in_file_;  // by the mapping's name
  std::map<std::string, size_t> by_file_;       // index in mapping().theirs
};

}  // namespace megalith
