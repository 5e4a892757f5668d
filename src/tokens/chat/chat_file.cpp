#include "tokens/chat/chat_file.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "base/mapped_file.h"
#include "base/threads.h"
#include "tokens/chat/chat_encoder.h"
#include "tokens/chat/json_value.h"
#include "tokens/chat/unread.h"

namespace megalith::chat {

namespace {

struct Line {
  std::string_view text;
  i64 number;
};

// The non-empty lines.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (i64 number = 1; !text.empty(); ++number) {
    const size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, length);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.push_back({line, number});
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines;
}

// The result of one thread's lines.
struct Part {
  Conversations chats;
  std::string error;  // of the first unusable line; empty: none
};

void append(Conversations& to, const EncodedChat& chat) {
  to.tokens.insert(to.tokens.end(), chat.tokens.begin(), chat.tokens.end());
  to.trained.insert(to.trained.end(), chat.trained.begin(), chat.trained.end());
  to.begins.push_back(i64(to.tokens.size()));
}

void join(Conversations& to, const Conversations& from) {
  const i64 before = i64(to.tokens.size());
  to.tokens.insert(to.tokens.end(), from.tokens.begin(), from.tokens.end());
  to.trained.insert(to.trained.end(), from.trained.begin(), from.trained.end());
  for (i64 i = 1; i <= from.size(); ++i) to.begins.push_back(before + from.begins[size_t(i)]);
  to.refused += from.refused;
  for (const auto& [name, count] : from.unread) to.unread[name] += count;
}

class PartReader {
 public:
  PartReader(const ChatFormat& format, const Tokenizer& tokenizer, const ChatFileOptions& options)
      : format_(format), encoder_(format, tokenizer), options_(options) {}

  Part read(const std::string& file, std::span<const Line> lines) {
    Part part;
    for (const Line& line : lines) {
      try {
        const std::vector<Chat> chats = chats_of(json_.read(line.text));
        for (const EncodedChat& chat : encode(chats)) append(part.chats, chat);
        for (const Chat& chat : chats) count_unread(chat, format_.template_for(chat), part.chats.unread);
      } catch (const Error& e) {
        ++part.chats.refused;
        if (part.error.empty()) part.error = fmt::format("{}:{}: {}", file, line.number, e.what());
        if (!options_.skip_bad_lines) break;
      }
    }
    return part;
  }

 private:
  // All conversations of a line, or none.
  std::vector<EncodedChat> encode(const std::vector<Chat>& chats) {
    std::vector<EncodedChat> out;
    for (const Chat& chat : chats) {
      EncodedChat encoded = encoder_.encode(chat);
      check(std::ranges::count(encoded.trained, u8{1}) > 0,
            "the template writes no assistant's text: nothing would be learned");
      if (options_.eod != Tokenizer::kNone && encoded.tokens.back() != options_.eod)
        encoded.tokens.push_back(options_.eod), encoded.trained.push_back(1);
      out.push_back(std::move(encoded));
    }
    return out;
  }

  const ChatFormat& format_;
  ChatEncoder encoder_;
  const ChatFileOptions& options_;
  JsonValues json_;
};

}  // namespace

Conversations read_chats(const std::string& file, const ChatFormat& format, const Tokenizer& tokenizer,
                         const ChatFileOptions& options) {
  constexpr i64 kLeastLines = 64;  // per thread
  const MappedFile mapped(file);
  const auto bytes = mapped.bytes();
  const std::vector<Line> lines = lines_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::map<i64, Part> parts;  // by first line
  std::mutex mutex;
  parallel_ranges(i64(lines.size()), kLeastLines, [&](i64 begin, i64 end) {
    Part part =
        PartReader(format, tokenizer, options).read(file, std::span(lines).subspan(size_t(begin), size_t(end - begin)));
    const std::lock_guard lock(mutex);
    parts.emplace(begin, std::move(part));
  });
  Conversations all;
  all.name = file;
  for (auto& [_, part] : parts) {
    check(part.error.empty() || options.skip_bad_lines, "{} (--sft-skip-bad-lines skips such lines)", part.error);
    join(all, part.chats);
  }
  return all;
}

}  // namespace megalith::chat
