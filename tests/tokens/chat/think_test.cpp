// Templates whose generation prompt has more than a turn: <think>. Headers are never trained.
#include "tests/tokens/helpers.h"
#include "tokens/chat/chat_encoder.h"
#include "tokens/chat/json_value.h"

namespace megalith::chat {

namespace {

// Like DeepSeek R1: the prompt opens a thought, which turns omit.
constexpr const char* kLikeR1 =
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}<｜User｜>{{ m.content }}"
    "{% elif m.role == 'assistant' %}<｜Assistant｜>{% for c in m.tool_calls or [] %}<tool>{{ c.function.name }}"
    "{% endfor %}{{ (m.content or '').split('</think>')[-1] }}<｜end｜>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<｜Assistant｜><think>\n{% endif %}";

// Like Qwen3's thinking models: turns before the last question have no thought.
constexpr const char* kLikeQwen3 =
    "{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}"
    "{% endif %}{% endfor %}{% for m in messages %}{{ '<|im_start|>' ~ m.role ~ '\n' }}"
    "{% if m.role == 'assistant' and loop.index0 > ns.last and (m.reasoning_content or keep) %}"
    "{{ '<think>\n' ~ m.reasoning_content ~ '\n</think>\n\n' }}{% endif %}{{ m.content ~ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif %}";

// The trained parts, with | between them. Tokens are bytes.
std::string learned(const char* source, const std::string& turns) {
  const auto tokenizer = make_tokenizer({.type = "ByteTokenizer"});
  const ChatFormat format{Template(source, "t.jinja"), {}, {}};
  const Chat chat = chats_of(JsonValues().read(fmt::format("{{\"messages\": [{}]}}", turns))).at(0);
  const EncodedChat got = ChatEncoder(format, *tokenizer).encode(chat);
  std::string out;
  for (size_t i = 0; i < got.tokens.size(); ++i) {
    if (got.trained[i] && i > 0 && !got.trained[i - 1] && !out.empty()) out += '|';
    if (got.trained[i]) out += char(got.tokens[i]);
  }
  return out;
}

std::string turn(const std::string& question, const std::string& answer, const std::string& more = "") {
  return fmt::format(R"({{"role": "user", "content": "{}"}}, {{"role": "assistant", "content": "{}"{}}})", question,
                     answer, more);
}

}  // namespace

TEST(ChatThink, headers_that_the_prompt_goes_on_behind_are_not_learned) {
  EXPECT_EQ(learned(kLikeR1, turn("q", "yes")), "yes<｜end｜>");
  EXPECT_EQ(learned(kLikeR1, turn("q", "yes") + ", " + turn("r", "no")), "yes<｜end｜>|no<｜end｜>");
  EXPECT_EQ(learned(kLikeR1, turn("q", "<think>\\nwhy\\n</think>yes")), "yes<｜end｜>");
  EXPECT_EQ(learned(kLikeQwen3, turn("q", "yes")), "yes<|im_end|>\n");
  EXPECT_EQ(learned(kLikeQwen3, turn("q", "yes") + ", " + turn("r", "no")), "yes<|im_end|>\n|no<|im_end|>\n");
}

// If a turn begins with the prompt, training begins after the prompt, because the model is given the prompt.
TEST(ChatThink, a_prompt_that_the_turn_goes_on_behind_is_not_learned) {
  EXPECT_EQ(learned(kLikeQwen3, turn("q", "yes", R"(, "reasoning": "why")")), "why\n</think>\n\nyes<|im_end|>\n");
}

// The content is trained from its first token on, even if the prompt or the header has the same text.
TEST(ChatThink, words_that_the_prompt_has_too_are_learned) {
  for (const char* said : {"<", "<t", "<b>", "<thin air", "a", "s", "ant", "i", "｜", "Assistant｜", "n", "本"})
    EXPECT_EQ(learned(kLikeR1, turn("q", said)), std::string(said) + "<｜end｜>");
  for (const char* said : {"<", "<b>", "a", "<|im_start|>", "assistant", "t"})
    EXPECT_EQ(learned(kLikeQwen3, turn("q", said)), std::string(said) + "<|im_end|>\n");
  EXPECT_EQ(learned(kLikeQwen3, turn("q", "")), "<|im_end|>\n");
}

TEST(ChatThink, calls_of_tools_are_learned) {
  const std::string call = R"(, "tool_calls": [{"function": {"name": "look", "arguments": {}}}])";
  EXPECT_EQ(learned(kLikeR1, turn("q", "", call)), "<tool>look<｜end｜>");
}

// A turn that repeats the previous one is ambiguous.
TEST(ChatThink, thoughts_that_vanish_are_refused) {
  const std::string thought = R"(, "reasoning_content": "why")";
  const std::string two = turn("q", "yes", thought) + ", " + turn("r", "no");
  const std::string error = error_of([&] { learned(kLikeQwen3, two); });
  EXPECT_NE(error.find("t.jinja: the messages after message 1 change the text before it"), std::string::npos) << error;
}

TEST(ChatThink, a_prompt_that_is_no_header_is_refused) {
  const char* source =
      "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}{% if add_generation_prompt %}BOT{% endif %}";
  const std::string error = error_of([&] { learned(source, turn("q", "yes")); });
  EXPECT_NE(error.find("t.jinja: message 1 does not begin with the generation prompt"), std::string::npos) << error;
}

}  // namespace megalith::chat
