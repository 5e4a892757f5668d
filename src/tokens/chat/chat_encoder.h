// Conversations as tokens, with a mark on those that the assistant wrote.
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
  std::vector<u8> trained;  // of each token, 1: some of it is the assistant's
};

// For one thread; the format and the tokenizer must outlive it. The tokenizer must add nothing around a text.
class ChatEncoder {
 public:
  ChatEncoder(const ChatFormat& format, const Tokenizer& tokenizer);

  // The tokens of the rendered text, as transformers' apply_chat_template gives them with return_assistant_tokens_mask.
  // Fails if the assistant's part begins or ends within a token of a tokenizer whose tokens are not pieces of the text.
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
