// Reads and encodes files of chats.
#pragma once
#include <string>

#include "data/conversations.h"
#include "tokens/chat/chat_format.h"

namespace megalith::chat {

struct ChatFileOptions {
  bool skip_bad_lines = false;  // skip and count unusable lines
  i32 eod = Tokenizer::kNone;   // appended to a conversation that does not end with it, and trained, as in Megatron
};

// Reads JSON lines on all cores. The result does not depend on their number. Fails with "FILE:LINE: .." on the first
// line that is no chat, or that the template refuses.
Conversations read_chats(const std::string& file, const ChatFormat& format, const Tokenizer& tokenizer,
                         const ChatFileOptions& options);

}  // namespace megalith::chat
