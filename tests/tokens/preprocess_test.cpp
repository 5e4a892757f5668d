// The output of preprocess-data.
#include "tests/harness/packed.h"
#include "tests/tokens/preprocessed.h"

namespace megalith {

TEST(Preprocess, tiny_shakespeare_equals_megatron) {
  if (!has_shared("formats/vectors/tiny_shakespeare_tokens.json"))
    GTEST_SKIP() << "no " << shared("formats/vectors/tiny_shakespeare_tokens.json");
  const TempDir dir;
  const auto all = nlohmann::json::parse(read_all(shared("formats/vectors/tiny_shakespeare_tokens.json")));
  const std::pair<const char*, TokenizerConfig> cases[] = {
      {"gpt2_eod50256", gpt2_config()},
      {"cl100k_eod100257", {.type = "TikTokenizer", .tokenizer_model = shared("data/cl100k_base.tiktoken")}},
      {"mistral_spm_eos2",
       {.type = "SentencePieceTokenizer", .tokenizer_model = shared("data/mistral-v1.tokenizer.model")}}};
  for (const auto& [name, tokenizer] : cases) {
    const auto& want = all.at(name);
    const PreprocessResult r = preprocess({.input = {shared("data/tiny-shakespeare.jsonl")},
                                           .output_prefix = dir.file("ts"),
                                           .append_eod = true,
                                           .workers = 2,
                                           .tokenizer = tokenizer});
    EXPECT_EQ(r.documents, want.at("docs").get<i64>());
    EXPECT_EQ(r.tokens, want.at("tokens").get<i64>());
    EXPECT_EQ(r.bytes, i64(std::filesystem::file_size(shared("data/tiny-shakespeare.jsonl"))));
    EXPECT_EQ(sha256(read_all(dir.file("ts_text_document.bin"))), want.at("sha256_le").get<std::string>());
    EXPECT_EQ(sha256(read_all(dir.file("ts_text_document.idx"))), want.at("idx_sha256").get<std::string>());
  }
}

TEST(Preprocess, any_number_of_workers_gives_the_same_bytes) {
  const TempDir dir;
  const std::string input = dir.write("in.jsonl", many_lines(30000));
  PreprocessConfig config{
      .input = {input, input}, .output_prefix = dir.file("one"), .append_eod = true, .tokenizer = tiny_config(dir)};
  const PreprocessResult one = preprocess(config);
  EXPECT_EQ(one.documents, 60000);
  config.workers = 4;
  config.output_prefix = dir.file("four");
  EXPECT_EQ(preprocess(config).tokens, one.tokens);
  EXPECT_EQ(read_all(dir.file("four_text_document.bin")), read_all(dir.file("one_text_document.bin")));
  EXPECT_EQ(read_all(dir.file("four_text_document.idx")), read_all(dir.file("one_text_document.idx")));
  EXPECT_TRUE(files_in(dir, "partial").empty());
}

TEST(Preprocess, documents_of_lines_and_lists) {
  const TempDir dir;
  auto config = byte_config(dir, dir.write("in.jsonl",
                                           "{\"text\": \"ab\", \"x\": \"q\"}\r\n"
                                           "{\"x\": \"\", \"text\": \"\"}\n"
                                           "{\"text\": [\"c\", \"\", \"\\u00e9\"], \"x\": []}\n"
                                           "{\"text\": \"first\", \"text\": \"last\", \"x\": \"\\n\"}"));
  config.json_keys = {"text", "x"};
  config.append_eod = true;
  EXPECT_EQ(preprocess(config).documents, 4);
  EXPECT_EQ(read_dataset(dir.file("out_text_document")),
            (Documents{{{'a', 'b', 256}}, {}, {{'c'}, {0xC3, 0xA9, 256}}, {{'l', 'a', 's', 't', 256}}}));
  EXPECT_EQ(read_dataset(dir.file("out_x_document")), (Documents{{{'q', 256}}, {}, {}, {{'\n', 256}}}));
  config.append_eod = false;
  preprocess(config);
  EXPECT_EQ(read_dataset(dir.file("out_text_document"))[2], (Documents::value_type{{'c'}, {0xC3, 0xA9}}));
}

TEST(Preprocess, text_files) {
  const TempDir dir;
  auto config = byte_config(dir, dir.write("a.txt", "ab\r\n\nc\n"));
  config.input.push_back(dir.write("b.txt", ""));
  EXPECT_EQ(preprocess(config).documents, 2);
  EXPECT_EQ(read_dataset(dir.file("out_text_document")), (Documents{{{'a', 'b', '\r', '\n', '\n', 'c', '\n'}}, {}}));
  config.split_lines = true;
  EXPECT_EQ(preprocess(config).documents, 2);
  EXPECT_EQ(read_dataset(dir.file("out_text_document")), (Documents{{{'a', 'b'}}, {{'c'}}}));
  config.json_keys = {"a", "b"};
  EXPECT_NE(error_of([&] { preprocess(config); }).find(".txt file is one text"), std::string::npos);
}

TEST(Preprocess, an_empty_file_gives_an_empty_dataset) {
  const TempDir dir;
  EXPECT_EQ(preprocess(byte_config(dir, dir.write("in.jsonl", ""))).documents, 0);
  EXPECT_TRUE(std::filesystem::exists(dir.file("out_text_document.idx")));
}

TEST(Preprocess, numbers_of_the_null_tokenizer) {
  const TempDir dir;
  auto config = byte_config(dir, dir.write("in.jsonl", json_line("70000 1") + json_line("2 70001")));
  config.tokenizer = {.type = "NullTokenizer", .vocab_size = 70001};
  EXPECT_NE(error_of([&] { preprocess(config); }).find("in.jsonl:2: token id 70001"), std::string::npos);
  config.tokenizer.vocab_size = 70002;
  preprocess(config);
  EXPECT_EQ(read_dataset(dir.file("out_text_document")), (Documents{{{70000, 1}}, {{2, 70001}}}));
  EXPECT_EQ(std::filesystem::file_size(dir.file("out_text_document.bin")), 16u);  // int32
}

TEST(Preprocess, packed_files_give_the_same_as_plain_ones) {
  const TempDir dir;
  const std::string lines = many_lines(20000), two = lines.substr(0, lines.find('\n', lines.size() / 3) + 1),
                    rest = lines.substr(two.size());
  auto config = byte_config(dir, dir.write("in.jsonl", lines));
  const PreprocessResult plain = preprocess(config);
  const std::string bin = read_all(dir.file("out_text_document.bin")),
                    idx = read_all(dir.file("out_text_document.idx"));
  const std::pair<const char*, std::string> packed[] = {
      {"a.jsonl.gz", gzipped(lines)},
      {"b.jsonl.gz", gzipped(two) + gzipped(rest) + std::string(512, '\0')},  // members and padding, as in RFC 1952
      {"c.jsonl.zst", zstd_packed(lines)},
      {"d.jsonl.zst", zstd_packed(two) + zstd_packed(rest)},
  };
  for (const auto& [name, bytes] : packed) {
    config.input = {dir.write(name, bytes)};
    config.workers = 2;
    EXPECT_EQ(preprocess(config).bytes, plain.bytes) << name;
    EXPECT_EQ(read_all(dir.file("out_text_document.bin")), bin) << name;
    EXPECT_EQ(read_all(dir.file("out_text_document.idx")), idx) << name;
  }
  config.input = {dir.write("e.txt.gz", gzipped("whole text"))};
  EXPECT_EQ(preprocess(config).tokens, 10);
}

TEST(Preprocess, patterns_name_files_in_order) {
  const TempDir dir;
  for (const char* name : {"b1.jsonl", "b0.jsonl", "c.jsonl"}) dir.write(name, json_line(name));
  dir.write("[x].jsonl", json_line("x"));
  auto config = byte_config(dir, dir.file("b?.jsonl"));
  config.input.push_back(dir.file("[x].jsonl"));
  EXPECT_EQ(preprocess(config).documents, 3);
  const auto first_bytes = [&] {
    std::string text;
    for (const auto& document : read_dataset(dir.file("out_text_document")))
      text += char(document[0][0]), text += char(document[0].size() > 1 ? document[0][1] : ' ');
    return text;
  };
  EXPECT_EQ(first_bytes(), "b0b1x ");
  config.input = {dir.file("q*.jsonl")};
  EXPECT_NE(error_of([&] { preprocess(config); }).find("no file matches"), std::string::npos);
  config.input = {dir.write("x.parquet", "PAR1")};
  EXPECT_NE(error_of([&] { preprocess(config); }).find(".parquet files are not read"), std::string::npos);
}

// Python's json writes and reads all of these.
TEST(Preprocess, reads_json_as_python_writes_it) {
  const TempDir dir;
  std::string lines;
  const char* kOthers[] = {"NaN",
                           "Infinity",
                           "-Infinity",
                           "1e400",
                           "[-1e400, 1e999]",
                           "18446744073709551616",
                           "12345678901234567890123456789",
                           "{\"b\": [NaN, {\"c\": Infinity}]}",
                           "\"\\ud800\""};
  for (const char* other : kOthers) lines += fmt::format("{{\"a\": {}, \"text\": \"x\"}}\n\n", other);
  auto config = byte_config(dir, dir.write("in.jsonl", lines + "{\"text\": \"a\\ud800b\"}\n \r\n\n"));
  config.skip_bad_lines = true;
  const PreprocessResult r = preprocess(config);
  EXPECT_EQ(r.bad_lines, 0);
  Documents want(std::size(kOthers), {{'x'}});
  want.push_back({{'a', 0xEF, 0xBF, 0xBD, 'b'}});
  EXPECT_EQ(read_dataset(dir.file("out_text_document")), want);
}

// Megatron distributes lines to the partitions in turn and concatenates their outputs; with --keep-sequential-samples
// it distributes blocks.
TEST(Preprocess, partitions_give_megatrons_order) {
  const TempDir dir;
  std::string lines;
  for (const char* text : {"a", "bb", "", "d", "e", "f", "gg"}) lines += json_line(text);
  auto config = byte_config(dir, dir.write("in.jsonl", lines));
  config.partitions = 3;
  config.workers = 3;
  preprocess(config);
  const auto one = [](const char* text) { return Documents::value_type{{text, text + std::strlen(text)}}; };
  EXPECT_EQ(read_dataset(dir.file("out_text_document")),
            (Documents{one("a"), one("d"), one("gg"), one("bb"), one("e"), {}, one("f")}));
  EXPECT_EQ(files_in(dir, "out").size(), 2u);
  config.keep_sequential_samples = true;
  preprocess(config);
  EXPECT_EQ(read_dataset(dir.file("out_text_document")),
            (Documents{one("a"), one("bb"), {}, one("d"), one("e"), one("f"), one("gg")}));
  config.keep_sequential_samples = false;
  config.input = {dir.write("bad.jsonl", lines + "{\n")};
  config.output_prefix = dir.file("bad");
  EXPECT_NE(error_of([&] { preprocess(config); }), "");
  EXPECT_TRUE(files_in(dir, "bad_").empty());
}

TEST(Preprocess, sentences_are_sequences) {
  const TempDir dir;
  auto config = byte_config(
      dir, dir.write("in.jsonl", json_line("A b. C!\n\nD") + json_line("") + "{\"text\": [\"E. F.\", \"G\"]}\n"));
  config.split_sentences = true;
  config.append_eod = true;
  preprocess(config);
  EXPECT_EQ(read_dataset(dir.file("out_text_sentence")),
            (Documents{{{'A', ' ', 'b', '.'}, {'C', '!'}, {'D', 256}}, {}, {{'E', '.', ' ', 'F', '.'}, {'G', 256}}}));
  config.keep_newlines = true;
  preprocess(config);
  EXPECT_EQ(read_dataset(dir.file("out_text_sentence"))[0],
            (Documents::value_type{{'A', ' ', 'b', '.', ' '}, {'C', '!', '\n', '\n'}, {'D', 256}}));
}

}  // namespace megalith
