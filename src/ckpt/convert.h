// Converts any format to any format that we write, in chunks of bounded size: the model is never in memory as a whole.
#pragma once
#include "ckpt/any_checkpoint.h"
#include "ckpt/side_files.h"

namespace megalith {

struct ConvertOptions {
  std::optional<DType> type{};  // of the weights; none: as they are stored
  std::string family{};         // of a Hugging Face directory; "": its origin's, else the first that fits
  i64 max_shard_bytes = 5'000'000'000;
  bool with_optimizer = true;
  std::vector<std::string> asset_dirs{};  // possible directories of tokenizer files; the first one with a file counts
  std::map<std::string, std::string> made_files{};  // files to write, by name; they replace copied ones
  // The tokenizer's ids, for a Hugging Face model without an origin, or whose origin has none.
  std::vector<i64> bos_token_ids{}, eos_token_ids{}, pad_token_ids{};
  std::optional<i64> decoder_start{};
};

// Writes `from` to `dir`: an iteration of a --save directory (native, torch_dist) or a model directory (hf), with the
// tokenizer's files. Returns the number of written tensors.
i64 convert_checkpoint(const AnyCheckpoint& from, CkptFormat to, const std::string& dir, const ConvertOptions& options);

}  // namespace megalith
