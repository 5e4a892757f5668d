// A run's state as Megatron-LM's tensors: a rank's blocks of ours, as blocks of theirs.
#pragma once
#include <memory>
#include <vector>

#include "ckpt/native/checkpoint.h"
#include "ckpt/native/save_steps.h"
#include "ckpt/tensors/mapped_tensors.h"
#include "models/config.h"

namespace megalith {

// The block of our tensor as blocks of theirs: one for each group of its elements that is a box there. Their data are
// read through `ours`, and converted from f32 to `type`.
std::vector<SaveTensor> megatron_blocks(const SaveTensor& ours, const NamedShape& theirs, const Strides& link,
                                        DType type);

// Memory that fill() of such a block needs besides its output.
inline constexpr i64 kMegatronPieceBytes = i64{1} << 20;

struct MegatronRun {
  Manifest manifest;
  ModelConfig model;  // resolved
  DType params = DType::f32;
  bool has_optimizer = false;
};
// The rows of their embedding, padding included.
i64 megatron_rows(const ModelConfig& model);

// torch_dist of this rank's blocks of our logical f32 tensors: parameters and the optimizer's states. Parameters are
// written in the run's type; with the optimizer's state their f32 main values are added. State that is not trained
// keeps its name and dtype.
std::unique_ptr<PartWriter> megatron_writer(const MegatronRun& run, const std::vector<SaveTensor>& ours, int rank,
                                            const SaveOptions& options);

}  // namespace megalith
