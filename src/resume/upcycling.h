// A mixture of experts that starts from a dense model (--moe-use-upcycling). Each expert is a copy of the dense MLP
// (Komatsuzaki et al. 2022, arXiv 2212.05055). With a granularity g it is one of g pieces of its width, next to the
// others (He et al. 2024, arXiv 2410.07524). The router is drawn as without a checkpoint. The g pieces of a copy
// share one row of it, so they are chosen together. Weights are scaled such that the mixture computes the same as the
// dense model.
#pragma once
#include <memory>

#include "ckpt/tensors/tensor_reader.h"
#include "settings/options.h"

namespace megalith {

// Checks --load: it must have the matching dense model, or the run's own checkpoint.
ModelConfig model_to_load(const Options& options);

// The mixture's parameters from those of its dense model, read in chunks. `seed`: for the routers' initial weights.
std::shared_ptr<const TensorReader> upcycled(std::shared_ptr<const TensorReader> dense, const ModelConfig& mixture,
                                             i64 granularity, u64 seed);

}  // namespace megalith
