// Files of chats to tokens.
#pragma once
#include <string>

#include "data/conversations.h"
#include "tokens/chat/chat_format.h"

namespace megalith::chat {

struct ChatFileOptions {
  bool skip_bad_lines = false;  // lines that cannot be used are left out and counted
  i32 eod = Tokenizer::kNone;   // put behind a conversation that does not end with it, and learned, as in Megatron
};

// Reads JSON lines on all cores; the result does not depend on how many. Fails on the first line that is no chat, or
// whose conversation the template refuses: "FILE:LINE: ..".
Conversations read_chats(const std::string& file, const ChatFormat& format, const Tokenizer& tokenizer,
                         const ChatFileOptions& options);

}  // namespace megalith::chat
