// Writes torch_dist checkpoints, which PyTorch's distributed checkpoint reads and Megatron-LM loads.
#pragma once
#include <string>
#include <vector>

#include "ckpt/native/save_steps.h"
#include "ckpt/tensors/tensor_reader.h"

namespace megalith {

struct TorchDistContent {
  std::string common;                        // the pickle of common.pt
  std::vector<std::string> empty_objects{};  // names of objects that hold one empty tensor each (_extra_state)
  std::string storage{};                     // of the tensor in common.pt
};

// Each rank writes its tensors and blocks into its own files, __RANK_N.distcp, each block as a chunk; the first rank
// also the objects, then .metadata, common.pt and metadata.json about all. The tensors' memory must last until write()
// has returned.
class DistcpWriter final : public PartWriter {
 public:
  DistcpWriter(TorchDistContent content, std::vector<SaveTensor> tensors, int rank, SaveOptions options)
      : content_(std::move(content)), tensors_(std::move(tensors)), rank_(rank), options_(std::move(options)) {}

  std::string write(const std::string& at) override;
  void describe(const std::string& at, const std::vector<std::string>& accounts) override;

 private:
  TorchDistContent content_;
  std::vector<SaveTensor> tensors_;
  int rank_;
  SaveOptions options_;
};

// Writes SAVE/iter_NNNNNNN with all tensors of `tensors`, one chunk of bounded size at a time. Then the tracker file
// names it. Stacked layers ("decoder.layers.REST") become one chunk each. A checkpoint of the same iteration is
// replaced. Error if a step fails. Then no file is left, and earlier checkpoints are untouched.
void save_torch_dist(const std::string& dir, i64 iteration, const TorchDistContent& content,
                     const TensorReader& tensors, const SaveOptions& options = {});

}  // namespace megalith
