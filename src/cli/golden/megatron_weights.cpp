#include "cli/golden/megatron_weights.h"

#include "ckpt/hf/hf_weights.h"
#include "ckpt/torch/megatron_mapping.h"
#include "state/read_state.h"

namespace megalith {

// By the names in the file, which differ between layer implementations.
static TensorMapping mapping_of(const std::string& path, const ModelConfig& model) {
  const TensorFiles files = TensorFiles::open_file(path);
  const auto has = [&](const std::string& name) { return files.find(name) != nullptr; };
  return megatron_mapping(model, MegatronLayers::separate, model.vocab_size, has, MegatronExperts::apart);
}

MegatronNames::MegatronNames(const std::string& path, const ModelConfig& model)
    : path_(path), mapping_(mapping_of(path_, model)) {
  const TensorFiles files = TensorFiles::open_file(path_);
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < mapping_.theirs.size(); ++i) known[mapping_.theirs[i].name] = i;
  std::vector<NamedShape> found;
  for (const TensorInfo& t : files.tensors()) {
    const std::string name = known.contains(t.name) ? t.name : canonical_megatron_name(t.name);
    found.push_back({name, t.shape});
    if (!known.contains(name)) continue;
    in_file_[name] = t.name;
    by_file_[t.name] = known[name];
  }
  check_same_tensors(path_, mapping_.theirs, found);
}

void MegatronNames::load(ModelState& model) const {
  const auto files = read_hf_files(TensorFiles::open_file(path_), [](const TensorInfo&) { return true; });
  const auto spell = [this](const std::string& name) { return in_file_.at(name); };
  const MappedTensors ours(files, mapping_, MapTo::ours, MappedTensors::Options{.spell = spell});
  read_state(ours, false, model);
  model.finish();
}

std::optional<size_t> MegatronNames::find(const std::string& name) const {
  const auto at = by_file_.find(name);
  return at == by_file_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace megalith
