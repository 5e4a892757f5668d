// Where a command's model and tokenizer come from: a directory that says what it holds, or the flags.
#pragma once
#include <memory>
#include <string>

#include "resume/checkpointing.h"
#include "settings/options.h"
#include "tokens/tokenizer.h"

namespace megalith {

// The tokenizer of the flags, else of the checkpoint, else tokenizer.json, or vocab.json and merges.txt, in a hub
// directory; nullptr if there is none.
std::unique_ptr<Tokenizer> find_tokenizer(const TokenizerConfig& flags, const StoredModel& stored,
                                          const std::string& dir);

// The settings of the same; of no type if there is none.
TokenizerConfig choose_tokenizer(const TokenizerConfig& flags, const StoredModel& stored, const std::string& dir);

// The weights of the checkpoint that --load and --ckpt-step name; where it is damaged none stands in for it, and the
// Error names one that is whole.
void load_named_weights(const std::string& dir, i64 step, ModelState& model);

// Fills what the flags left open: the model from --load, or the run's copies, where they say what they hold, the
// vocabulary and special tokens from the tokenizer. What is wrong is added to the options' mistakes; Error where --load
// can't be read.
void complete_model(Options& options);

// complete_model(), then finish_options().
void complete_options(Options& options);

}  // namespace megalith
