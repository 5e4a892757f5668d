// Templates and masks compared with transformers and jinja2. Skipped if they cannot be imported; MEGALITH_PYTHON
// names the interpreter (default python3).
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/places.h"
#include "tests/tokens/helpers.h"
#include "tokens/chat/chat_encoder.h"
#include "tokens/chat/json_value.h"

namespace megalith::chat {

namespace {

using json = nlohmann::ordered_json;  // the order of keys shows in texts

// The reference's files; empty, with the reason, if it cannot run.
std::string run_reference(const TempDir& dir) {
  const char* named = std::getenv("MEGALITH_PYTHON");
  const std::string python = named && *named ? named : "python3";
  const std::string tests = std::string(kSourceDir) + "/tests/tokens/chat";
  const int status = std::system(fmt::format("\"{}\" {}/reference.py \"{}\" \"{}\" {}/templates > \"{}\" 2>&1", python,
                                             tests, dir.path.string(), kSharedDir, tests, dir.file("log"))
                                     .c_str());
  if (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)
    return read_all(dir.file("log")) + " (pip install transformers jinja2; MEGALITH_PYTHON)";
  EXPECT_EQ(status, 0) << read_all(dir.file("log"));
  return "";
}

void check_text(const json& c) {
  const std::string name = c["name"].get<std::string>() + ": " + c["source"].get<std::string>().substr(0, 200);
  const Value variables = JsonValues().read(c["variables"].dump());
  Rendered got;
  std::string error;
  try {
    got = Template(c["source"].get<std::string>(), "t").render(*variables.dict());
  } catch (const Error& e) {
    error = e.what();
  }
  if (c["text"].is_null()) {
    EXPECT_NE(error, "") << name << "\nshould fail: " << c["marks"] << "\ngot " << got.text;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    return;
  }
  EXPECT_EQ(error, "") << name;
  EXPECT_EQ(got.text, c["text"].get<std::string>()) << name << "\n" << c["variables"].dump().substr(0, 2000);
  EXPECT_EQ(json(got.generations), c["marks"]) << name;
}

}  // namespace

TEST(ChatReference, texts_and_tokens_equal_those_of_transformers) {
  const TempDir dir;
  if (const std::string reason = run_reference(dir); !reason.empty()) GTEST_SKIP() << reason;
  const json texts = json::parse(read_all(dir.file("texts.json")));
  int refused = 0;
  for (const json& c : texts) {
    check_text(c);
    refused += c["text"].is_null();
    if (HasFailure()) return;
  }
  int encoded = 0;
  const json cases = json::parse(read_all(dir.file("tokens.json")));
  std::string home;
  std::unique_ptr<Tokenizer> tokenizer;
  std::optional<ChatFormat> format;
  for (const json& c : cases) {
    if (c["home"] != home) {
      home = c["home"];
      const TokenizerConfig config{.type = "SFTTokenizer", .tokenizer_model = home, .hf_no_special_tokens = true};
      tokenizer = make_tokenizer(config);
      format.emplace(find_chat_format("default", config, "2024-07-26"));
    }
    ChatEncoder encoder(*format, *tokenizer);
    const std::string line = c["line"];
    const bool pieces = home.find("bytes-") != std::string::npos;
    try {
      const EncodedChat got = encoder.encode(chats_of(JsonValues().read(line))[0]);
      ++encoded;
      EXPECT_EQ(json(got.tokens), c["ids"]) << home << line;
      EXPECT_EQ(json(got.trained), c["mask"]) << home << line;
    } catch (const Error& e) {
      // Where the reference has tokens, ours may only refuse a boundary inside a token.
      EXPECT_TRUE(c["ids"].is_null() || (!pieces && std::string(e.what()).find("inside a token") != std::string::npos))
          << e.what() << home << line;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(encoded, int(cases.size()) / 3);
  std::printf("%zu texts, %d of them refused by both; %zu conversations, of which %d gave tokens\n", texts.size(),
              refused, cases.size(), encoded);
}

}  // namespace megalith::chat
