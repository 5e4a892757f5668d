// The special tokens that a tokenizer.json adds before and after a text.
#pragma once
#include <string_view>
#include <vector>

#include "tokens/hf/json.h"

namespace megalith::hf {

struct Surround {
  std::vector<i32> before, after;
};

// Empty for null. Fails, naming `where`, on an unsupported post-processor.
Surround read_post_processor(const Json& spec, std::string_view where);

}  // namespace megalith::hf
