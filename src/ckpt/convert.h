// From any format to any that we write, a piece of bounded size at a time: no model is ever in memory.
#pragma once
#include "ckpt/any_checkpoint.h"

namespace megalith {

struct ConvertOptions {
  std::optional<DType> type{};  // of the weights; none: as they are stored
  std::string family{};         // of a Hugging Face directory; "": where it came from, else the first that fits
  i64 max_shard_bytes = 5'000'000'000;
  bool with_optimizer = true;
  std::vector<std::string> asset_dirs{};  // where tokenizer files may lie; the first that has a file counts
};

// Whether any file of a tokenizer, or that goes with one, is there, by the names that Hugging Face gives them.
bool has_tokenizer_files(const std::string& dir);

// Writes `from` to `dir`: an iteration of a --save directory (native, torch_dist) or a model directory (hf), with the
// tokenizer's files beside it. Returns how many tensors were written.
i64 convert_checkpoint(const AnyCheckpoint& from, CkptFormat to, const std::string& dir, const ConvertOptions& options);

}  // namespace megalith
