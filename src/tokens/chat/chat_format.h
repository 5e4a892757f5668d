// How conversations become text: a template, and the special tokens that it may use.
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
  Dict variables;  // bos_token, eos_token and other tokens that the tokenizer's files name; strftime_now
  std::vector<std::string> marks;        // texts that must be single tokens
  std::optional<Template> with_tools{};  // for conversations with tools; none: use `text`

  const Template& template_for(const Chat& chat) const { return with_tools && !chat.tools.none() ? *with_tools : text; }
};

// `name`: a value of --sft-tokenizer-prompt-format. default: the template in the tokenizer's files.
// nemotron-h-aligned, nemotron-nano-v2, identity: Megatron's. chatml, llama3, mistral: built in. FILE.jinja: a file.
// `date` (YYYY-MM-DD): the result of strftime_now. Fails if the format or the template does not exist.
ChatFormat find_chat_format(const std::string& name, const TokenizerConfig& tokenizer, const std::string& date);

}  // namespace megalith::chat
