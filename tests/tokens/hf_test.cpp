// tokenizer.json: the vectors, refused files, and that fast and slow code give the same results.
#include <nlohmann/json.hpp>

#include "tests/places.h"
#include "tests/tokens/helpers.h"

namespace megalith {

using nlohmann::json;

namespace {

TokenizerConfig hugging_face(const std::string& file) {
  return {.type = "HuggingFaceTokenizer", .tokenizer_model = file};
}

std::string style(const std::string& name) { return shared("formats/vectors/" + name + "-style-mini.tokenizer.json"); }

// A byte-level file with the merges of "the" and " the", and one special token.
json tiny_file() {
  json vocab = json::object();
  const auto add = [&](const std::string& token) { vocab[token] = vocab.size(); };
  for (u32 c : byte_alphabet()) {
    std::string letter;
    append_utf8(letter, c);
    add(letter);
  }
  for (const char* token : {"th", "the", "Ġthe"}) add(token);
  const json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  return {{"version", "1.0"},
          {"added_tokens", {{{"id", 259}, {"content", "<|end|>"}, {"special", true}, {"normalized", false}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"t h", "th e", "Ġ the"}}}}};
}

std::string error_with(const TempDir& dir, const json& file) {
  const std::string said = error_of(
      [&] { make_tokenizer(hugging_face(dir.write("tokenizer.json", file.dump())))->encode("the \u00e9 12"); });
  EXPECT_EQ(said.find('\n'), std::string::npos);
  return said;
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" does not have \"" << part << "\"";
}

}  // namespace

TEST(HuggingFaceTokenizer, encodes_the_vectors) {
  if (!has_shared("formats/vectors/tokenizers.json"))
    GTEST_SKIP() << "no " << shared("formats/vectors/tokenizers.json");
  const json vectors = json::parse(read_all(shared("formats/vectors/tokenizers.json")));
  for (const std::string name : {"llama3", "qwen", "mistral"}) {
    const auto t = make_tokenizer(hugging_face(style(name)));
    const auto encoder = t->encoder();
    for (const json& v : vectors.at("cases")) {
      std::vector<i32> ids;
      encoder->encode(v.at("text").get<std::string>(), ids);
      EXPECT_EQ(ids, v.at(name + "_style_mini").get<std::vector<i32>>()) << name << ": " << v.at("text");
    }
  }
}

TEST(BertWordPiece, encodes_the_vectors) {
  if (!has_shared("formats/vectors/tokenizers.json"))
    GTEST_SKIP() << "no " << shared("formats/vectors/tokenizers.json");
  TokenizerConfig c{.type = "BertWordPieceLowerCase", .vocab_file = shared("data/bert-base-uncased-vocab.txt")};
  const auto t = make_tokenizer(c);
  EXPECT_EQ(t->vocab_size(), 30522);
  EXPECT_EQ(t->eod(), 102);
  EXPECT_EQ(t->find("[MASK]"), 103);
  const json vectors = json::parse(read_all(shared("formats/vectors/tokenizers.json")));
  for (const json& v : vectors.at("cases")) {
    EXPECT_EQ(t->encode(v.at("text").get<std::string>()), v.at("bert_base_uncased").get<std::vector<i32>>())
        << v.at("text");
  }
  c.hf_no_special_tokens = true;
  EXPECT_EQ(make_tokenizer(c)->encode(read_all(shared("data/tiny-shakespeare.txt"))).size(), 288719u);
  EXPECT_EQ(t->decode(t->encode("Hello world")), "[CLS] hello world [SEP]");
}

TEST(SentencePieceTokenizer, encodes_and_decodes_the_vectors) {
  if (!has_shared("formats/vectors/tokenizers.json"))
    GTEST_SKIP() << "no " << shared("formats/vectors/tokenizers.json");
  const json encode = json::parse(read_all(shared("formats/vectors/tokenizers.json")));
  const json decode = json::parse(read_all(shared("formats/vectors/tokenizer_decode.json")));
  for (const auto& [file, key, decode_key] :
       {std::tuple{"mistral-v1.tokenizer.model", "mistral_v1_spm", "spm_mistral"},
        std::tuple{"spm-unigram-test.model", "spm_unigram_test", "spm_unigram"}}) {
    const auto t =
        make_tokenizer({.type = "SentencePieceTokenizer", .tokenizer_model = shared(std::string("data/") + file)});
    for (const json& v : encode.at("cases")) {
      EXPECT_EQ(t->encode(v.at("text").get<std::string>()), v.at(key).get<std::vector<i32>>()) << v.at("text");
    }
    for (const json& v : decode.at(decode_key)) {
      EXPECT_EQ(t->decode(v.at("ids").get<std::vector<i32>>()), v.at("text").get<std::string>());
    }
  }
}

// A field with a piece's number but another wire type is not a piece; sentencepiece 0.2.3 gives these ids.
TEST(SentencePieceTokenizer, fields_of_other_wire_types_are_unknown_ones) {
  constexpr std::string_view kHex =
      "0a0e0a053c756e6b3e150000000018020a0c0a033c733e150000000018030a0d0a043c2f733e150000000018030a0a0a"
      "016c15000080bf1801090a0a016f15000000c018010a0c0a03e2968115080040c01801410affffffff0d0a04e296816c"
      "15000080c018010a0b0a020000000018040a0a0a01781500980200c00200c80201d002021a06180120012801";
  std::string model;
  for (size_t i = 0; i < kHex.size(); i += 2) model += char(std::stoi(std::string(kHex.substr(i, 2)), nullptr, 16));
  const TempDir dir;
  const auto t = make_tokenizer({.type = "SentencePieceTokenizer", .tokenizer_model = dir.write("m.model", model)});
  EXPECT_EQ(t->vocab_size(), 5);
  EXPECT_EQ(t->encode("Hello world's don't x"), (std::vector<i32>{4, 0, 3, 3, 0, 4, 0, 3, 0, 4, 0, 4, 0}));
}

TEST(SentencePieceTokenizer, what_the_library_throws_is_an_error) {
  const TempDir dir;
  const std::string piece =
                        std::string("\x0a\x02\x00x\x15\x00\x00\x80\xbf\x18\x04", 11),  // user-defined: a zero byte, x
      unknown = std::string("\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02", 16);
  const std::string file = dir.write("m.model", unknown + "\x0a\x0b" + piece);
  const std::string error =
      error_of([&] { make_tokenizer({.type = "SentencePieceTokenizer", .tokenizer_model = file}); });
  EXPECT_NE(error.find("SentencePiece cannot read it: "), std::string::npos) << error;
}

TEST(HuggingFaceTokenizer, an_error_is_one_line_whatever_it_quotes) {
  const TempDir dir;
  for (const char* type : {"BPE", "WordPiece", "WordLevel"}) {
    const std::string model =
        dir.write("u.json", fmt::format(R"({{"model": {{"type": "{}", "vocab": {{"a": 0}}, "merges": [],
      "unk_token": "u\nk", "max_input_chars_per_word": 9, "continuing_subword_prefix": ""}}}})",
                                        type));
    const std::string told = error_of([&] { make_tokenizer(hugging_face(model))->encode("x"); });
    EXPECT_NE(told.find("the unk_token \"u\\nk\""), std::string::npos) << type << ": " << told;
  }
  const std::string file = dir.write("t.json", R"({"model": {"type": "BPE", "vocab": {}, "merges": []},
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(\n\u001b"}, "behavior": "Isolated", "invert": false}})");
  const std::string error = error_of([&] { make_tokenizer(hugging_face(file)); });
  EXPECT_NE(error.find("the pattern \"(\\n\\x1b\""), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST(HuggingFaceTokenizer, equals_gpt2_from_its_own_files) {
  if (!has_shared("data/olmo-tokenizer.json")) GTEST_SKIP() << "no " << shared("data/olmo-tokenizer.json");
  const auto a = make_tokenizer(hugging_face(shared("data/olmo-tokenizer.json"))), b = make_tokenizer(gpt2_config());
  EXPECT_EQ(a->vocab_size(), b->vocab_size());
  EXPECT_EQ(a->eod(), b->eod());
  std::mt19937 random(4);
  const auto encode_a = a->encoder(), encode_b = b->encoder();
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_bytes(random, random() % 80) + (round % 5 ? "" : "<|endoftext|> \u4e00don't");
    std::vector<i32> ids_a, ids_b;
    encode_a->encode(text, ids_a), encode_b->encode(text, ids_b);
    ASSERT_EQ(ids_a, ids_b);
    ASSERT_EQ(a->decode_bytes(ids_a), text);  // invalid UTF-8 is decoded to the same bytes
  }
}

// The same pattern in a form that no scanner knows, so that PCRE2 is used.
TEST(HuggingFaceTokenizer, scanners_equal_pcre2) {
  if (!has_shared("formats/vectors/tokenizers.json"))
    GTEST_SKIP() << "no " << shared("formats/vectors/tokenizers.json");
  const TempDir dir;
  for (const std::string name : {"llama3", "qwen"}) {
    json file = json::parse(read_all(style(name)));
    json& regex = file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"];
    regex = "(?:" + regex.get<std::string>() + ")";
    const auto fast = make_tokenizer(hugging_face(style(name)));
    const auto slow = make_tokenizer(hugging_face(dir.write(name + ".json", file.dump())));
    const std::string text = read_all(std::string(kSourceDir) + "/README.md") + "\xff\xfe \u0e01\u0e31 \n\n  x";
    EXPECT_EQ(fast->encode(text), slow->encode(text));
  }
}

TEST(HuggingFaceTokenizer, finds_added_tokens_and_the_eod) {
  const TempDir dir;
  json file = tiny_file();
  const auto load = [&] { return make_tokenizer(hugging_face(dir.write("tokenizer.json", file.dump()))); };
  auto t = load();
  EXPECT_EQ(t->vocab_size(), 260);
  EXPECT_EQ(t->eod(), Tokenizer::kNone);  // no common name
  EXPECT_EQ(t->encode("the the<|end|>"), (std::vector<i32>{257, 258, 259}));
  EXPECT_EQ(t->decode(std::vector<i32>{257, 258, 259}), "the the<|end|>");
  dir.write("tokenizer_config.json", R"({"eos_token": {"content": "<|end|>"}, "pad_token": "#"})");
  t = load();
  EXPECT_EQ(t->eod(), 259);
  EXPECT_EQ(t->pad(), t->find("#"));
  EXPECT_EQ(t->bos(), Tokenizer::kNone);
  TokenizerConfig c = hugging_face(dir.path.string());  // the directory is enough
  c.special_tokens_in_text = false;
  EXPECT_EQ(make_tokenizer(c)->encode("<|end|>").size(), 7u);
  file["post_processor"] = {{"type", "BertProcessing"}, {"sep", {"<|end|>", 259}}, {"cls", {"th", 256}}};
  EXPECT_EQ(load()->encode("the"), (std::vector<i32>{256, 257, 259}));
  c.special_tokens_in_text = true, c.hf_no_special_tokens = true;
  EXPECT_EQ(make_tokenizer(c)->encode("the"), std::vector<i32>{257});
  // The post-processor of a tokenizer.json has precedence over these two settings, as in transformers 5.
  dir.write(
      "tokenizer_config.json",
      R"({"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": true, "add_eos_token": false, "bos_token": "#"})");
  EXPECT_EQ(load()->encode("the"), (std::vector<i32>{256, 257, 259}));
}

// The pieces "a" and "b", with score 0, and "ab": at equal sums the single token is chosen.
TEST(HuggingFaceTokenizer, reads_unigram_scores_as_tokenizers_do) {
  const TempDir dir;
  const auto load = [&](const std::string& a, const std::string& ab) {
    const std::string text = R"({"version": "1.0", "added_tokens": [], "model": {"type": "Unigram", "unk_id": 0,)"
                             R"( "vocab": [["<unk>", -1], ["a", )" +
                             a + R"(], ["b", 0], ["ab", )" + ab + "]]}}";
    return make_tokenizer(hugging_face(dir.write("tokenizer.json", text)));
  };
  const std::vector<i32> apart{1, 2}, together{3};
  EXPECT_EQ(load("-1.5", "-2.5")->encode("ab"), apart);
  EXPECT_EQ(load("-2.5", "-1.5")->encode("ab"), together);
  EXPECT_EQ(load("0.0", "-0.0")->encode("ab"), together);
  // Adjacent numbers that tokenizers 0.23.3 rounds to one number.
  EXPECT_EQ(load("4.2926009822779065e-290", "4.292600982277906e-290")->encode("ab"), together);
  EXPECT_EQ(load("1.3785303900816469e-300", "1.3785303900816467e-300")->encode("ab"), together);
  EXPECT_EQ(load("3.991289158512042e+30", "3.9912891585120413e+30")->encode("ab"), together);
  // It refuses all of these.
  for (const char* score : {"1e309", "-1e309", "NaN", "Infinity", "-Infinity", "null"}) {
    const std::string told = error_of([&] { load(score, "0"); });
    expect_contains(told, "tokenizer.json: ");
    EXPECT_EQ(told.find('\n'), std::string::npos) << told;
  }
}

TEST(HuggingFaceTokenizer, names_what_it_does_not_have) {
  const TempDir dir;
  const auto with = [&](const std::string& key, const json& value) {
    json file = tiny_file();
    file[json::json_pointer(key)] = value;
    return error_with(dir, file);
  };
  EXPECT_EQ(error_with(dir, tiny_file()), "");
  expect_contains(with("/normalizer", {{"type", "Rot13"}}), "the normalizer Rot13 is not supported");
  expect_contains(with("/pre_tokenizer", {{"type", "UnicodeScripts"}}),
                  "the pre-tokenizer UnicodeScripts is not supported");
  expect_contains(with("/post_processor", {{"type", "Foo"}}), "the post-processor Foo is not supported");
  expect_contains(with("/decoder", {{"type", "Foo"}}), "the decoder Foo is not supported");
  expect_contains(with("/model/type", "LSTM"), "the model LSTM is not supported");
  expect_contains(with("/model/dropout", 0.1), "dropout is not supported");
  expect_contains(with("/normalizer", 3), "an object with a \"type\" is wanted");
  expect_contains(with("/model/merges", {"t q"}), "needs the token \"tq\"");
  expect_contains(with("/model/merges", {"tq"}), "want two tokens and one space");
  expect_contains(with("/model/merges", {{1, 2}}), "merge 0 is neither");
  expect_contains(with("/model/vocab/th", 1e9), "the id of \"th\" is not a whole number from 0 to");
  expect_contains(with("/model/vocab/th", -1), "the id of \"th\"");
  expect_contains(with("/model/vocab", nullptr), "\"vocab\" is missing");
  expect_contains(with("/added_tokens/0/content", std::string(2000, 'x')), "2000 bytes long");
  expect_contains(with("/post_processor", {{"type", "BertProcessing"}, {"sep", {"x", 9999}}, {"cls", {"x", 1}}}),
                  "adds the id 9999");
  const auto split = [&](const std::string& regex) {
    return with("/pre_tokenizer",
                {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}});
  };
  expect_contains(split("(a"), "the pattern \"(a\" cannot be used");
  expect_contains(split("[a&&b]"), "a class intersection");
  expect_contains(split("[a[bc]]"), "a class within a class");
  expect_contains(split("a{1,3}+"), "{n,m}+");
  expect_contains(split(std::string(30000, 'a')), "30000 bytes long");
  expect_contains(with("/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", "Wild"}}),
                  "the behavior \"Wild\" is not supported");
  expect_contains(error_of([&] { make_tokenizer(hugging_face("/no/such")); }), "/no/such: cannot be read");
  expect_contains(error_of([&] { make_tokenizer(hugging_face(dir.write("broken.json", "{\"model\""))); }),
                  "want a JSON file");
  std::filesystem::create_directory(dir.path / "empty");
  expect_contains(error_of([&] { make_tokenizer(hugging_face(dir.file("empty"))); }), "no tokenizer.json there");
}

TEST(HuggingFaceTokenizer, a_pattern_that_takes_too_long_is_an_error) {
  const TempDir dir;
  json file = tiny_file();
  file["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", "(a|aa)+[bc]d"}}}, {"behavior", "Isolated"}, {"invert", false}};
  const auto t = make_tokenizer(hugging_face(dir.write("tokenizer.json", file.dump())));
  expect_contains(error_of([&] { t->encode(std::string(60, 'a') + "d"); }), "needs too many steps");
}

}  // namespace megalith
