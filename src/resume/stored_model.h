// The model and the tokenizer of a directory, and its weights: what evaluation, generation and the completion of
// options read of a checkpoint.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ckpt/any_checkpoint.h"
#include "settings/options.h"
#include "step/model_state.h"

namespace megalith {

// The directory's checkpoint of this iteration (0: the latest), or its Hugging Face model. Empty if it has neither.
// Error if `dir` is not a directory.
std::optional<CheckpointPlace> find_loadable(const std::string& dir, i64 iteration);

// Opens an iteration (0: the latest) without reading its data. A read, or AnyCheckpoint::verify, verifies them.
AnyOpenOptions open_unverified(i64 iteration);

// The options of the run that saved it. Warns of settings that this program does not know.
Options stored_options(const AnyCheckpoint& checkpoint);
TokenizerConfig stored_tokenizer(const AnyCheckpoint& checkpoint);  // tokenizer of its run; no type if unknown

struct StoredModel {
  ModelConfig model;
  TokenizerConfig tokenizer;           // empty type for a hub directory
  std::vector<i64> ends_of_text{};     // end tokens, from the Hugging Face files
  std::optional<i64> decoder_start{};  // start token of an encoder-decoder, from the same files
};
// From its config.json or the checkpoint's options. Error if it has neither.
StoredModel read_stored_model(const std::string& dir, i64 iteration);

// The model of --load and --ckpt-step. If it is missing or damaged, the model of the run's copies. None if there is
// neither.
std::optional<StoredModel> find_stored_model(const TrainConfig& train);

// Loads only the weights, of a checkpoint or a hub directory.
void load_weights(const std::string& dir, i64 iteration, ModelState& model);

// The weights of the checkpoint that --load and --ckpt-step name. If it is damaged, no other checkpoint replaces it,
// and the Error names a whole one.
void load_named_weights(const std::string& dir, i64 step, ModelState& model);

}  // namespace megalith
