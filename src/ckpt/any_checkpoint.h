// A checkpoint of any format as one thing: what run it is of, and its tensors under our logical names.
//
// Tensors are named as in native checkpoints: parameters by their names, the optimizer's states as optimizer.KIND.NAME
// (AdamW has exp_avg and exp_avg_sq). If a file has a parameter in compute precision and its f32 main value, it is the
// main value. Of a Hugging Face model whose architecture we don't have yet the tensors keep their own names
// (`foreign`): they can be copied from format to format, not trained.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/find_checkpoint.h"
#include "ckpt/native/checkpoint.h"
#include "ckpt/tensors/tensor_reader.h"
#include "ckpt/torch/archive_sums.h"
#include "models/config.h"

namespace megalith {

struct AnyCheckpoint {
  CkptFormat format = CkptFormat::native;
  std::string path{};                  // of the one that was opened: SAVE/iter_0000010, or the model directory
  Manifest manifest{};                 // config_json holds at least the model
  std::optional<ModelConfig> model{};  // resolved; none if it is foreign
  std::string hf_config{};             // the config.json that it came from, if from one
  std::shared_ptr<const TensorReader> tensors{};
  ReadMark mark{};                            // native ones: in `tensors`
  std::shared_ptr<const ArchiveSums> sums{};  // Megatron's formats: what reading does not compare
  std::string passed_over{};                  // native: why it is not the newest, "" if it is
  std::string state_problem{};  // why the optimizer state in the files is not among `tensors`, and what to do

  bool foreign() const { return !model.has_value(); }
  bool has_optimizer() const;
  // Reads all data, or a share of it, whose checksums a read does not verify. Error if it is damaged.
  void verify(const Share& share = {});
};

struct AnyOpenOptions {
  std::optional<CkptFormat> format{};  // none: detected from the files
  std::optional<i64> iteration{};      // none: the latest
  bool verify = true;  // reads every byte and compares checksums, where there are any; else see AnyCheckpoint::verify
  std::optional<i64> no_later_than{};  // native, without `iteration`: ignores later checkpoints
  bool whole = true;                   // native: see OpenOptions
  bool past_cache = false;             // see OpenOptions, TensorStore
  bool tells = true;                   // likewise
  bool or_older = true;                // likewise
  i64 vocab_size = 0;                  // for a Megatron checkpoint with only padded rows; 0: that number
};

// Error if there is no checkpoint, or it is damaged.
AnyCheckpoint open_any_checkpoint(const std::string& dir, const AnyOpenOptions& options = {});
AnyCheckpoint open_any_checkpoint(const CheckpointPlace& place, const AnyOpenOptions& options);

inline constexpr const char* kOptimizerState = "optimizer.";
inline bool is_optimizer_tensor(const std::string& name) { return name.starts_with(kOptimizerState); }

}  // namespace megalith
