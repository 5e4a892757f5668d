// The description of the tokenizer in a Hugging Face directory of a model that was trained here.
#pragma once
#include "ckpt/convert.h"

namespace megalith {

// Adds the ids of the special tokens. Also adds a tokenizer_config.json that names the tokenizer's class, unless a
// copied file does. The tokenizer is the run's. With `by_files`, or if the run had none, it is that of the files in
// options.asset_dirs.
void describe_tokenizer(const AnyCheckpoint& from, bool by_files, ConvertOptions& options);

}  // namespace megalith
