// What a Hugging Face directory says of the tokenizer beside a model that was trained here.
#pragma once
#include "ckpt/convert.h"

namespace megalith {

// Adds the ids of the special tokens, and a tokenizer_config.json where none would be copied that names the class of
// the files. The tokenizer is the run's; of `by_files`, or where the run had none, that of the files in
// options.asset_dirs.
void describe_tokenizer(const AnyCheckpoint& from, bool by_files, ConvertOptions& options);

}  // namespace megalith
