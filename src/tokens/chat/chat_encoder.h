// Encodes conversations, and marks the tokens that the assistant wrote.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tokens/chat/chat_text.h"

namespace megalith::chat {

struct EncodedChat {
  std::vector<i32> tokens;
  std::vector<u8> trained;  // of each token; 1: the assistant wrote it, or a part of it
};

// For one thread. The format and the tokenizer must outlive it. The tokenizer must add no special tokens.
class ChatEncoder {
 public:
  ChatEncoder(const ChatFormat& format, const Tokenizer& tokenizer);

  // The tokens of the rendered text, equal to those of transformers' apply_chat_template with
  // return_assistant_tokens_mask. If the assistant's text begins or ends inside a token, tokens must be pieces of the
  // text; otherwise it fails.
  EncodedChat encode(const Chat& chat);

 private:
  std::optional<std::vector<size_t>> ends_of(const std::string& text, const std::vector<i32>& tokens);
  const std::string& piece(i32 id);
  size_t tokens_before(const std::string& text, size_t at, const std::vector<i32>& tokens);

  const ChatFormat& format_;
  const Tokenizer& tokenizer_;
  std::unique_ptr<TextEncoder> encoder_;
  std::unordered_map<i32, std::string> pieces_;
};

}  // namespace megalith::chat
