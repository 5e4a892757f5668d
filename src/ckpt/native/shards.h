// A rank's part of a native checkpoint: its files of tensors, and its account of them.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/save_steps.h"

namespace megalith {

Shape global_shape(const SaveTensor& t);
Shape block_offset(const SaveTensor& t);

// Divides them into parts of about the same size: the largest first, always to the smallest part. Each part keeps the
// order.
std::vector<std::vector<const SaveTensor*>> split_by_size(std::span<const SaveTensor> tensors, int parts);

// f(bytes) for the tensor's bytes from front to back, a chunk of kChunkBytes each; `piece` is memory for bytes that
// must be made.
void for_chunks(const SaveTensor& t, std::vector<std::byte>& piece,
                const std::function<void(std::span<const std::byte>)>& f);

// Native checkpoints. Its tensors' memory must last until write() has returned.
class ShardWriter final : public PartWriter {
 public:
  // shard_RRRRR.safetensors, or with several writers shard_RRRRR_W.safetensors, of about the same size each.
  ShardWriter(Manifest manifest, std::vector<SaveTensor> tensors, int rank, SaveOptions options)
      : manifest_(std::move(manifest)), tensors_(std::move(tensors)), rank_(rank), options_(std::move(options)) {}

  std::string write(const std::string& at) override;
  void describe(const std::string& at, const std::vector<std::string>& accounts) override;

 private:
  Manifest manifest_;
  std::vector<SaveTensor> tensors_;
  int rank_;
  SaveOptions options_;
};

}  // namespace megalith
