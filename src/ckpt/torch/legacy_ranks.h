// The files of Megatron-LM's ranks in format torch: mp_rank_TT[_PPP][_EEE]/model_optim_rng.pt of tensor, pipeline and
// expert-parallel ranks, and the parameters that are in them.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ckpt/torch/archive_sums.h"
#include "ckpt/torch/legacy_experts.h"
#include "ckpt/torch/legacy_optimizer.h"

namespace megalith {

struct LegacyRank {
  i64 tensor = 0, pipeline = 0, expert = 0;
  auto operator<=>(const LegacyRank&) const = default;
};

inline constexpr const char* kLegacyFile = "/model_optim_rng.pt";

// The folders of a directory. Error unless they are those of all ranks.
std::map<LegacyRank, std::string> legacy_folders(const std::string& dir);

// The parameters of all files by canonical name. Layers are numbered within the model, experts within the layer.
class LegacyParams {
 public:
  using Parts = std::map<i64, RankParam>;  // by tensor rank

  LegacyParams(const std::string& dir, TensorStore& store, ArchiveSums& sums) : dir_(dir), store_(store), sums_(sums) {}

  std::unique_ptr<TorchFile> open(const std::string& path, std::size_t& number);
  // The chunks of a rank's file: "model", or "model0", "model1", ... with virtual stages.
  std::vector<RankModel*> read(const LegacyRank& rank, const RankFile& file, const LegacyExperts& experts);
  bool is_pipelined() const { return chunks_.size() > 1; }
  std::map<std::string, Parts> finish() const;

 private:
  struct Found {
    RankModel& model;
    const LegacyExperts& experts;
    i64 expert_rank = 0, entries = 0;
    bool has_encoder = false;  // in addition to the decoder
    std::set<std::string> names{};
  };
  void flatten(const RankFile& file, const PickleValue& value, const std::string& name, int depth, Found& found) const;

  const std::string& dir_;
  TensorStore& store_;
  ArchiveSums& sums_;
  // By model chunk (virtual stage, pipeline rank), which is the order of the layers, then tensor and expert rank.
  std::map<std::pair<i64, i64>, std::map<std::pair<i64, i64>, RankModel>> chunks_;
};

}  // namespace megalith
