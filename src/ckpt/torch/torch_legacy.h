// Megatron's `torch` checkpoints: one torch.save file for each pair of a tensor and a pipeline rank,
// mp_rank_TT[_PPP]/model_optim_rng.pt. Their tensors are put side by side again: cut along one axis by tensor
// parallelism (gated fc1: each rank has its gates, then its ups), layers numbered from 0 on every stage. So is the
// optimizer's state, if each part's parameter is certain (legacy_optimizer.h).
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "ckpt/torch/archive_sums.h"
#include "ckpt/torch/torch_file.h"

namespace megalith {

class TorchLegacy {
 public:
  // One iter_NNNNNNN directory. Reads all but the tensors' numbers, which sums() verify. Error if a rank's file is
  // missing or damaged.
  explicit TorchLegacy(const std::string& dir, bool past_cache = false);

  // Under canonical_megatron_name, each layer by its number in the model; of the optimizer's state with kMegatronState
  // and its kind before it.
  const TensorStore& tensors() const { return *store_; }
  std::shared_ptr<const TensorStore> share() const { return store_; }
  const std::shared_ptr<ArchiveSums>& sums() const { return sums_; }   // of all files
  const std::string& state_problem() const { return state_problem_; }  // why the state is missing; or empty
  std::optional<i64> optimizer_steps() const;                          // of Adam, if the files say
  const PickleValue& common() const { return common_->root(); }        // the first rank's file
  const TorchFile& common_file() const { return *common_; }

 private:
  std::shared_ptr<TensorStore> store_;
  std::shared_ptr<ArchiveSums> sums_;
  std::unique_ptr<TorchFile> common_;
  std::string state_problem_;
};

// Whether the directory has mp_rank_* directories. UnreachableFile if it can't be read.
bool is_torch_legacy(const std::string& dir);

}  // namespace megalith
