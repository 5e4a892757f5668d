// Completes a command's options by what the files say that they name (complete/sources.h).
#pragma once
#include "complete/sources.h"
#include "settings/options.h"

namespace megalith {

// Fills settings that the flags do not have: the model from --load or the run's copies, and the vocabulary and
// special tokens from the tokenizer. Reads no file. Adds mistakes to those of the options. Mistakes (thrown) if the
// model remains unknown because --load could not be read.
void complete_model(Options& options, const Sources& sources);

// complete_model(), then finish_options().
void complete_options(Options& options, const Sources& sources);

}  // namespace megalith
