// The special tokens that a tokenizer.json puts around a text.
#pragma once
#include <string_view>
#include <vector>

#include "tokens/hf/json.h"

namespace megalith::hf {

struct Surround {
  std::vector<i32> before, after;
};

// Nothing for null. Fails, naming `where`, if there is a post-processor that we don't have.
Surround read_post_processor(const Json& spec, std::string_view where);

}  // namespace megalith::hf
