// The checksums of Megatron's archives. Each is of a full record, and a rank may read only parts of it. So they are
// verified separately from reading, once for all ranks.
#pragma once
#include <memory>
#include <vector>

#include "ckpt/tensors/tensor_store.h"
#include "ckpt/torch/torch_zip.h"

namespace megalith {

// The division of work among several: number `rank` of `of`.
struct Share {
  int rank = 0, of = 1;
};

class ArchiveSums {
 public:
  // `files`: contain the archives.
  explicit ArchiveSums(std::shared_ptr<const TensorStore> files) : files_(std::move(files)) {}
  void add(TorchZip archive) { archives_.push_back(std::move(archive)); }

  // Reads every byte of a share of the records, in several threads; shares have about the same bytes. Error if a
  // checksum is wrong.
  void verify(const Share& share = {}) const;

 private:
  std::shared_ptr<const TensorStore> files_;
  std::vector<TorchZip> archives_;
};

}  // namespace megalith
