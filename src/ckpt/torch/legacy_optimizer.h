// The optimizer's state in Megatron-LM's `torch` checkpoints, as tensors with the shape of a rank's part of each
// parameter. Without distributed optimizer it is in model_optim_rng.pt, by parameter numbers in groups. With it, it is
// in distrib_optim.pt, as one flat buffer for each model chunk.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/torch/optimizer_state.h"
#include "ckpt/torch/torch_file.h"

namespace megalith {

// A tensor in a file that a TensorStore has under this number.
struct RankTensor {
  TorchTensor tensor;
  std::size_t file;
};

struct RankParam {
  std::string name;  // canonical; layers numbered from 0 in each chunk
  RankTensor weight;
  std::array<std::optional<RankTensor>, 3> state{};  // main value and both moments, if they exist
};
using RankModel = std::vector<RankParam>;    // a model chunk's, in the model's order
using RankParams = std::vector<RankParam*>;  // those of them that one optimizer updates

struct RankFile {
  const TorchFile& file;
  std::size_t number;
};

// The position of one rank's files.
struct RankPlace {
  bool first_stage, last_stage;
  bool shared_embedding;  // between the first and the last of several stages
  i64 bucket_size;        // of the first chunk's buckets, at least; 0: it has one
};

// Fills in the state of one optimizer's parameters, of each chunk. UnplacedState if it fits not exactly.
void add_grouped_state(const RankFile& model, const PickleValue& optimizer, const std::vector<RankParams>& chunks);
// `root`: of the optimizer in the file.
void add_bucketed_state(const RankFile& state, const PickleValue& root, const RankPlace& place,
                        const std::vector<RankParams>& chunks);

}  // namespace megalith
