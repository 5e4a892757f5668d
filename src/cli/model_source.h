// The source of a command's model and tokenizer: the flags, or a directory that describes its content.
#pragma once
#include <memory>
#include <string>

#include "resume/checkpointing.h"
#include "settings/options.h"
#include "tokens/tokenizer.h"

namespace megalith {

// The tokenizer of the flags, else of the checkpoint, else tokenizer.json or vocab.json and merges.txt in a hub
// directory. nullptr if there is none.
std::unique_ptr<Tokenizer> find_tokenizer(const TokenizerConfig& flags, const StoredModel& stored,
                                          const std::string& dir);

// The settings of that tokenizer. No type if there is none.
TokenizerConfig choose_tokenizer(const TokenizerConfig& flags, const StoredModel& stored, const std::string& dir);

// The weights of the checkpoint that --load and --ckpt-step name. If it is damaged, no other checkpoint replaces it,
// and the Error names a whole one.
void load_named_weights(const std::string& dir, i64 step, ModelState& model);

// Fills settings that the flags do not have: the model from --load or the run's copies, and the vocabulary and
// special tokens from the tokenizer. Adds mistakes to those of the options. Error if --load cannot be read.
void complete_model(Options& options);

// complete_model(), then finish_options().
void complete_options(Options& options);

}  // namespace megalith
