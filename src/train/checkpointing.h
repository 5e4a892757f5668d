// A run's checkpoints: what goes in beside the tensors, and what a resumed run checks.
#pragma once
#include <string>

#include "ckpt/checkpoint.h"
#include "train/model_state.h"
#include "train/options.h"
#include "train/trainer.h"

namespace megalith {

// Saves under --save. A failure is a warning: training goes on and earlier checkpoints are untouched. Returns whether it was saved.
bool save_run(const Options& options, const ModelState& model, const RunState& state);

// Loads --load: a native checkpoint directory, or a Hugging Face model directory (weights only). Fills the model and `state` (left at zero with
// --finetune or for a hub directory). Error if the checkpoint is of another model.
void load_run(const Options& options, ModelState& model, RunState& state);

// Weights alone, of either kind of directory, for evaluation and generation.
void load_weights(const std::string& dir, i64 iteration, ModelState& model);

// The model that a directory holds, by its own account: config.json or the checkpoint's options. Error if it holds neither.
struct StoredModel {
  ModelConfig model;
  TokenizerConfig tokenizer;  // empty type for a hub directory
};
StoredModel read_stored_model(const std::string& dir, i64 iteration);

}  // namespace megalith
