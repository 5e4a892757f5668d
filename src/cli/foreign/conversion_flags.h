// The flags of other programs' conversions: what each stands for.
#pragma once
#include <string_view>

namespace megalith {

enum class FlagRole {
  load,
  save,  // what is read, where to write
  hf_model,
  megatron_path,
  hf_path,  // Bridge's examples: the two ends by what they are
  reader,
  writer,  // loader and saver plugins, source and target formats
  to,
  bf16,
  fp16,
  dtype,
  tokenizer,
  vocab_size,
  model_type,
  checkpoint_type,
  ours,  // of our `convert`, kept as it is
  other,
};

FlagRole role_of(std::string_view flag);

bool is_own_conversion_flag(std::string_view flag);

// Of a flag that is known and changes nothing here; nullptr for others.
const char* why_without_effect(std::string_view flag);

}  // namespace megalith
