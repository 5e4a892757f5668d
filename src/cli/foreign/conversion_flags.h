// The meaning of each flag of other programs' conversions.
#pragma once
#include <string_view>

namespace megalith {

enum class FlagRole {
  load,
  save,  // the directory to read, the directory to write
  hf_model,
  megatron_path,
  hf_path,  // Bridge's examples: directories by format
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
  ours,  // of our `convert`, kept unchanged
  other,
};

FlagRole role_of(std::string_view flag);

bool is_own_conversion_flag(std::string_view flag);

// The reason why a known flag has no effect. nullptr for others.
const char* why_without_effect(std::string_view flag);

}  // namespace megalith
