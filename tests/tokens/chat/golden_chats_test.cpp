// Conversations that transformers has rendered with our templates: tests/golden/chats, made by make_chats.py.
#include <nlohmann/json.hpp>

#include "tests/tokens/helpers.h"
#include "tokens/chat/chat_encoder.h"
#include "tokens/chat/json_value.h"

namespace megalith::chat {

namespace {

using json = nlohmann::ordered_json;  // the order of keys shows in texts

const std::string kTests = std::string(kSourceDir) + "/tests/";

Dict named_tokens() {
  Dict out;
  for (const auto& [key, text] : {std::pair{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"date_string", "26 Jul 2024"}})
    out.set(key, std::string_view(text));
  return out;
}

std::string rendered(const ChatFormat& format, const Chat& chat, bool prompt) {
  Dict variables = format.variables;
  variables.set("messages", chat.messages), variables.set("tools", chat.tools);
  variables.set("add_generation_prompt", prompt);
  return format.text.render(variables).text;
}

// Ranges [begin, end) of the trained tokens.
json learned(const ChatFormat& format, const Chat& chat) {
  const auto tokenizer = make_tokenizer({.type = "ByteTokenizer"});
  const EncodedChat got = ChatEncoder(format, *tokenizer).encode(chat);
  json runs = json::array();
  for (size_t i = 0; i < got.trained.size(); ++i) {
    const bool before = i > 0 && got.trained[i - 1];
    if (got.trained[i] && !before) runs.push_back({i, i + 1});
    if (got.trained[i] && before) runs.back()[1] = i + 1;
  }
  return runs;
}

class GoldenChats : public testing::TestWithParam<const char*> {};

}  // namespace

TEST_P(GoldenChats, equal_those_of_transformers) {
  const json golden = json::parse(read_all(kTests + "golden/chats/" + GetParam() + ".json"));
  const std::string file = golden["template"];
  const ChatFormat format{Template(read_all(kTests + file), file), named_tokens(), {}};
  ASSERT_GT(golden["cases"].size(), 8u);
  for (const json& c : golden["cases"]) {
    const std::string line = c["line"].dump();
    const Chat chat = chats_of(JsonValues().read(line)).at(0);
    if (c.contains("refused")) {
      EXPECT_NE(error_of([&] { rendered(format, chat, false); }), "") << line;
      continue;
    }
    EXPECT_EQ(rendered(format, chat, false), c["text"].get<std::string>()) << line;
    EXPECT_EQ(rendered(format, chat, true), c["with_prompt"].get<std::string>()) << line;
    EXPECT_EQ(format.text.has_generation(), c.contains("learned"));
    if (c.contains("learned")) EXPECT_EQ(learned(format, chat), c["learned"]) << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Tree, GoldenChats,
                         testing::Values("gemma4", "kimi_k2", "deepseek_r1", "llama31_tools", "mistral", "qwen3",
                                         "chatml_generation"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace megalith::chat
