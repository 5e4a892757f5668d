// How conversations become text: a template and the names of special tokens that it may use.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/chat/chat_line.h"
#include "tokens/chat/template.h"
#include "tokens/tokenizer.h"

namespace megalith::chat {

struct ChatFormat {
  Template text;
  Dict variables;                  // bos_token, eos_token and others that the tokenizer's files name; strftime_now
  std::vector<std::string> marks;  // texts that should be one token each
  std::optional<Template> with_tools{};  // of a conversation with tools; none: `text`

  const Template& template_for(const Chat& chat) const { return with_tools && !chat.tools.none() ? *with_tools : text; }
};

// `name` as --sft-tokenizer-prompt-format spells it: default (the template in the tokenizer's files),
// nemotron-h-aligned, nemotron-nano-v2 and identity (Megatron's), chatml, llama3, mistral; or a file that ends with
// .jinja. `date` (YYYY-MM-DD): what strftime_now tells. Fails if there is no such format or template.
ChatFormat find_chat_format(const std::string& name, const TokenizerConfig& tokenizer, const std::string& date);

}  // namespace megalith::chat
