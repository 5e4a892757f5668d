#include "tokens/chat/chat_file.h"

#include <omp.h>

#include "tests/tokens/helpers.h"
#include "tokens/chat/json_value.h"

namespace megalith::chat {

namespace {

constexpr const char* kGood =
    R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]})";

class Chats {
 public:
  explicit Chats(const std::string& name = "identity") : format_(find_chat_format(name, {}, "2024-07-26")) {}

  Conversations read(const std::string& lines, bool skip = false) const {
    return read_chats(dir_.write("chats.jsonl", lines), format_, *tokenizer_, {skip, tokenizer_->eod()});
  }
  std::string error(const std::string& lines) const {
    std::string e = error_of([&] { read(lines); });
    if (const size_t at = e.find("chats.jsonl"); at != std::string::npos) e.erase(0, at);
    return e;
  }
  // Conversation i as text: eod is $, trained tokens are capitals.
  std::string shown(const Conversations& c, i64 i) const {
    std::string out;
    for (size_t k = 0; k < c.tokens_of(i).size(); ++k) {
      const i32 id = c.tokens_of(i)[k];
      const char letter = id == tokenizer_->eod() ? '$' : char(id);
      out += c.trained_of(i)[k] ? char(std::toupper(letter)) : letter;
    }
    return out;
  }
  const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
  std::unique_ptr<Tokenizer> tokenizer_ = make_tokenizer({.type = "ByteTokenizer"});
  ChatFormat format_;
};

std::string line(const std::string& turns) {
  std::string out;
  for (size_t at = 0; at < turns.size(); at += 2) {
    const std::string role = turns[at] == 's' ? "system" : turns[at] == 'u' ? "user" : "assistant";
    out += fmt::format("{}{{\"role\": \"{}\", \"content\": \"{}\"}}", at ? "," : "", role, turns[at + 1]);
  }
  return "{\"messages\": [" + out + "]}\n";
}

}  // namespace

// The text of each named format for a short conversation; trained tokens, and eod, in capitals. After Megatron's
// templates and prefix lengths.
TEST(ChatFile, named_formats) {
  struct Case {
    const char* format;
    const char* text;
  };
  constexpr Case kCases[] = {
      {"identity", "pqR$"},
      {"nemotron-h-aligned", "<SPECIAL_10>System\np\n<SPECIAL_11>User\nq\n<SPECIAL_11>Assistant\nR\n$"},
      {"nemotron-nano-v2", "<SPECIAL_10>System\np\n<SPECIAL_11>User\nq\n<SPECIAL_11>Assistant\nR\n<SPECIAL_12>\n$"},
      {"chatml",
       "<|im_start|>system\np<|im_end|>\n<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\nR<|IM_END|>\n$"},
      {"llama3",
       "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\np<|eot_id|><|start_header_id|>user<|end_header_"
       "id|>\n\n"
       "q<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nR<|EOT_ID|>$"},
      {"mistral", "<s>[INST] p\n\nq [/INST] R</S>$"},
  };
  for (const Case& c : kCases) {
    const Chats chats(c.format);
    EXPECT_EQ(chats.shown(chats.read(line("spuqar")), 0), c.text);
  }
}

TEST(ChatFile, system_messages_begin_conversations) {
  const Chats chats;
  const Conversations c = chats.read(line("u1a2s3u4a5s6u7a8") + "\n \r\n" + line("u1a2u3a4"));
  ASSERT_EQ(c.size(), 4);
  EXPECT_EQ(c.length(0), 3);
  EXPECT_EQ(chats.shown(c, 3), "1234$");
  EXPECT_EQ(std::vector<u8>(c.trained_of(3).begin(), c.trained_of(3).end()), (std::vector<u8>{0, 1, 0, 1, 1}));
}

TEST(ChatFile, lines_that_are_no_chat_are_named) {
  const Chats chats;
  const auto at_2 = [&](const std::string& second) {
    return chats.error(std::string(kGood) + "\n" + second + "\n" + kGood);
  };
  EXPECT_TRUE(at_2("{\"messages\": [").starts_with("chats.jsonl:2: not valid JSON"));
  EXPECT_TRUE(at_2("[]").starts_with("chats.jsonl:2: not a JSON object"));
  EXPECT_TRUE(at_2("{\"text\": \"x\"}").starts_with("chats.jsonl:2: no list \"messages\""));
  EXPECT_TRUE(at_2("{\"messages\": []}").starts_with("chats.jsonl:2: \"messages\" is empty"));
  EXPECT_TRUE(at_2("{\"messages\": [5]}").starts_with("chats.jsonl:2: message 0 is a whole number"));
  EXPECT_TRUE(at_2("{\"messages\": [{\"content\": \"x\"}]}").starts_with("chats.jsonl:2: message 0 has no \"role\""));
  EXPECT_TRUE(at_2(line("u1u2")).starts_with("chats.jsonl:2: a conversation of 2 messages has none of the assistant"));
  EXPECT_TRUE(chats.error(line("u1a2s3u4")).starts_with("chats.jsonl:1: a conversation of 2 messages"));
  EXPECT_TRUE(Chats("mistral")
                  .error(line("u1a2a3"))
                  .starts_with("chats.jsonl:1: the format mistral: line 11: the template refuses"))
      << Chats("mistral").error(line("u1a2a3"));
  EXPECT_TRUE(at_2("{\"messages\": [{\"role\": \"assistant\"}]}").find("nothing would be learned") !=
              std::string::npos);
}

// As Python's json reads it; `tojson` and str() write it as Python does.
TEST(ChatFile, json_as_python_writes_it) {
  const Chats chats;
  const std::string turns = R"("messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "r"}])";
  for (const char* other : {"NaN", "[-Infinity, 1e400]", "99999999999999999999999", "\"\\ud800\""})
    EXPECT_EQ(chats.shown(chats.read(fmt::format("{{\"score\": {}, {}}}\n", other, turns)), 0), "qR$") << other;
  const Value v = JsonValues().read("[NaN, Infinity, -1e400, 18446744073709551615, -99999999999999999999, 1.5]");
  EXPECT_EQ(to_json(v, {}), "[NaN, Infinity, -Infinity, 18446744073709551615, -99999999999999999999, 1.5]");
  EXPECT_EQ(to_text(v), "[nan, inf, -inf, 18446744073709551615, -99999999999999999999, 1.5]");
}

TEST(ChatFile, bad_lines_can_be_left_out) {
  const Chats chats;
  const Conversations c = chats.read(line("u1a2") + "nonsense\n" + line("u3a4") + line("u1u2"), true);
  EXPECT_EQ(c.size(), 2);
  EXPECT_EQ(c.refused, 2);
  EXPECT_EQ(chats.shown(c, 1), "34$");
}

// For any number of threads, the first bad line is reported, and the conversations are in the file's order.
TEST(ChatFile, threads_change_nothing) {
  const Chats chats;
  std::string good, bad;
  for (int i = 0; i < 1000; ++i) good += line(fmt::format("u{}a{}", char('a' + i % 26), char('a' + i / 26 % 26)));
  bad = good;
  for (const char* l : {"bad\n", "worse\n"}) bad += l + good;
  const int threads = omp_get_max_threads();
  std::vector<std::string> errors;
  std::vector<std::vector<i32>> tokens;
  for (const int n : {1, 2, 7}) {
    omp_set_num_threads(n);
    errors.push_back(chats.error(bad));
    tokens.push_back(chats.read(good).tokens);
  }
  omp_set_num_threads(threads);
  EXPECT_TRUE(errors[0].starts_with("chats.jsonl:1001: ")) << errors[0];
  for (size_t k = 1; k < errors.size(); ++k) EXPECT_TRUE(errors[k] == errors[0] && tokens[k] == tokens[0]);
}

TEST(ChatFile, formats_that_are_not_there) {
  const TempDir dir;
  const auto error = [&](const std::string& name) {
    return error_of([&] { find_chat_format(name, {.tokenizer_model = dir.path.string()}, "2024-07-26"); });
  };
  EXPECT_NE(error("alpaca").find("--sft-tokenizer-prompt-format alpaca is not supported: use nemotron-h-aligned, "),
            std::string::npos);
  EXPECT_NE(error("default").find("neither chat_template.jinja nor a \"chat_template\""), std::string::npos);
  const std::string bytes = error_of([] { find_chat_format("default", {.type = "ByteTokenizer"}, "2026-01-31"); });
  EXPECT_EQ(bytes.find("--sft-tokenizer-prompt-format default: this tokenizer has neither"), 0) << bytes;
  EXPECT_NE(bytes.find("give a file.jinja, or one of nemotron-h-aligned, "), std::string::npos) << bytes;
  EXPECT_NE(error(dir.file("no.jinja")).find("no.jinja: cannot be read"), std::string::npos);
  EXPECT_NE(error_of([] { find_chat_format("chatml", {}, "today"); }).find("--sft-date today is no date"),
            std::string::npos);
}

// chat_template.jinja has precedence over tokenizer_config.json, whose list has one named "default"; strftime_now
// gives the date.
TEST(ChatFile, the_tokenizers_own_template) {
  const TempDir dir;
  const TokenizerConfig config{.tokenizer_model = dir.path.string()};
  const auto text = [&] {
    const ChatFormat f = find_chat_format("default", config, "2025-02-03");
    return f.text.render(f.variables).text;
  };
  dir.write(
      "tokenizer_config.json",
      R"({"bos_token": {"content": "<b>"}, "model_max_length": 1000000000000000019884624838656, "chat_template": [)"
      R"({"name": "tool_use", "template": "t"}, {"name": "default", "template": "{{ bos_token }}{{ eos_token }}x"}]})");
  dir.write("special_tokens_map.json", R"({"bos_token": "other", "eos_token": "<e>"})");
  EXPECT_EQ(text(), "other<e>x");  // without added_tokens_decoder the map has precedence, as in transformers 5
  dir.write("chat_template.jinja", "{{ strftime_now('%d %b %Y, %A') }}");
  EXPECT_EQ(text(), "03 Feb 2025, Monday");
}

}  // namespace megalith::chat
