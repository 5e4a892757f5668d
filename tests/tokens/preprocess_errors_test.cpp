// The messages of preprocess-data for invalid input, and the files that it leaves.
#include "tests/harness/packed.h"
#include "tests/tokens/preprocessed.h"

namespace megalith {

TEST(Preprocess, the_first_broken_line_is_named) {
  const TempDir dir;
  const std::string good = many_lines(20000);
  for (int workers : {1, 4}) {
    auto config = byte_config(dir, dir.write("in.jsonl", good + "{\"text\": \"x\n" + good + "{}\n"));
    config.workers = workers;
    EXPECT_NE(error_of([&] { preprocess(config); }).find("in.jsonl:20001: not valid JSON"), std::string::npos);
    EXPECT_TRUE(files_in(dir, "out").empty());
  }
}

TEST(Preprocess, says_what_is_wrong_with_a_line) {
  const TempDir dir;
  const std::pair<std::string, std::string> cases[] = {
      {"\xef\xbb\xbf{\"text\": \"a\"}\n", "byte order mark"},
      {"{\"text\": \"a\"} x\n", "not valid JSON"},
      {"{\"text\": \"\xff\"}\n", "not valid UTF-8"},
      {"[1]\n", "not a JSON object"},
      {"{\"body\": \"a\", \"id\": 1}\n", "no key \"text\" (the line has: body, id)"},
      {"{\"bo\\ndy\": 1}\n", "the line has: bo\\ndy"},
      {"{\"text\": 3}\n", "neither a string nor a list"},
      {"{\"text\": null}\n", "neither a string nor a list"},
      {"{\"text\": NaN}\n", "the value of \"text\" is neither a string nor a list"},
      {"{\"text\": [\"a\", -Infinity]}\n", "not a string"},
      {"{\"text\": [\"a\", 3]}\n", "not a string"},
      {std::string(2000, '[') + "\n", "not valid JSON"},
      {"{\"a\": " + std::string(2000, '[') + std::string(2000, ']') + "}\n", "nested more than 1024 levels deep"},
      {"{\"text\": \"" + std::string(3000000, 'a'), "not valid JSON"},
  };
  for (const auto& [line, message] : cases) {
    const std::string error =
        error_of([&] { preprocess(byte_config(dir, dir.write("in.jsonl", json_line("ok") + line))); });
    EXPECT_NE(error.find("in.jsonl:2: "), std::string::npos) << error;
    EXPECT_NE(error.find(message), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_LT(error.size(), 600u);
    EXPECT_TRUE(files_in(dir, "out").empty());
  }
}

TEST(Preprocess, says_what_is_wrong_with_the_flags) {
  const TempDir dir;
  const auto good = byte_config(dir, dir.write("in.jsonl", json_line("a")));
  const auto expect = [&](const std::string& part, auto&& change) {
    PreprocessConfig c = good;
    change(c);
    const std::string error = error_of([&] { preprocess(c); });
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  expect("no input", [](auto& c) { c.input.clear(); });
  expect("no such file", [](auto& c) { c.input = {"/no/such.jsonl"}; });
  expect("is a folder", [&](auto& c) { c.input = {dir.path.string()}; });
  expect("--workers is 0", [](auto& c) { c.workers = 0; });
  expect("--log-interval is 0", [](auto& c) { c.log_interval = 0; });
  expect("--output-prefix", [](auto& c) { c.output_prefix.clear(); });
  expect("/no/folder/out", [](auto& c) { c.output_prefix = "/no/folder/out"; });
  expect("\"a\" twice", [](auto& c) { c.json_keys = {"a", "b", "a"}; });
  expect("--json-keys is empty", [](auto& c) { c.json_keys = {}; });
  expect("--partitions is 0", [](auto& c) { c.partitions = 0; });
  expect("--lang is german", [](auto& c) { c.lang = "german"; });
  expect("is not supported", [](auto& c) { c.tokenizer.type = "BPE"; });
  EXPECT_TRUE(files_in(dir, "out").empty());
}

TEST(Preprocess, an_error_leaves_the_last_good_output) {
  const TempDir dir;
  preprocess(byte_config(dir, dir.write("in.jsonl", json_line("good"))));
  const std::string bin = read_all(dir.file("out_text_document.bin")),
                    idx = read_all(dir.file("out_text_document.idx"));
  EXPECT_NE(error_of([&] { preprocess(byte_config(dir, dir.write("in.jsonl", json_line("other") + "{\n"))); }), "");
  EXPECT_EQ(read_all(dir.file("out_text_document.bin")), bin);
  EXPECT_EQ(read_all(dir.file("out_text_document.idx")), idx);
}

TEST(Preprocess, an_error_of_one_key_leaves_the_output_of_all) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const TempDir dir;
  auto config = byte_config(dir, dir.write("in.jsonl", "{\"a\": \"good\", \"b\": \"good\"}\n"));
  config.json_keys = {"a", "b"};
  preprocess(config);
  const std::string bin = read_all(dir.file("out_a_document.bin"));
  dir.write("in.jsonl", "{\"a\": \"other\", \"b\": \"other\"}\n");
  std::filesystem::create_symlink("/dev/full", dir.file("out_b_document.bin.partial"));
  EXPECT_NE(error_of([&] { preprocess(config); }).find("out_b_document.bin.partial"), std::string::npos);
  EXPECT_EQ(read_all(dir.file("out_a_document.bin")), bin);
}

TEST(Preprocess, truncated_and_damaged_packed_files_are_errors) {
  const TempDir dir;
  const std::string lines = many_lines(300);
  const auto expect = [&](const char* name, const std::string& bytes, const char* part) {
    auto config = byte_config(dir, dir.write(name, bytes));
    config.skip_bad_lines = true;  // a truncated file is not a bad line
    const std::string error = error_of([&] { preprocess(config); });
    EXPECT_NE(error.find(part), std::string::npos) << name << ": " << error;
    EXPECT_NE(error.find(name), std::string::npos) << error;
    EXPECT_TRUE(files_in(dir, "out").empty());
  };
  const std::pair<const char*, std::string> packed[] = {{"a.jsonl.gz", gzipped(lines)},
                                                        {"b.jsonl.zst", zstd_packed(lines)}};
  for (const auto& [name, bytes] : packed) {
    for (const size_t size : {size_t{0}, size_t{1}, bytes.size() / 2, bytes.size() - 1})
      expect(name, bytes.substr(0, size), "truncated");
    expect(name, bytes + bytes.substr(0, bytes.size() / 2), "truncated");
    std::string damaged = bytes;
    damaged[damaged.size() / 2] = char(~damaged[damaged.size() / 2]);
    damaged[damaged.size() / 2 + 1] = char(~damaged[damaged.size() / 2 + 1]);
    damaged[damaged.size() - 6] = char(~damaged[damaged.size() - 6]);
    if (std::string_view(name).ends_with(".gz")) expect(name, damaged, "damaged");  // gzip always has a checksum
    expect(name, lines, "damaged or not packed");
    expect(name, bytes + "no packed data", "damaged or not packed");
  }
}

TEST(Preprocess, skips_bad_lines_whole_and_counts_them) {
  const TempDir dir;
  auto config = byte_config(dir, dir.write("in.jsonl",
                                           "{\"text\": \"a\", \"n\": \"1\"}\n\n{\"text\": \"b\"}\n{\"text\": \"c\n"
                                           "{\"text\": \"d\", \"n\": 2}\n{\"text\": \"e\", \"n\": \"5\"}\n"));
  config.json_keys = {"text", "n"};
  EXPECT_NE(error_of([&] { preprocess(config); }).find("in.jsonl:3: "), std::string::npos);
  config.skip_bad_lines = true;
  testing::internal::CaptureStderr();
  const PreprocessResult r = preprocess(config);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(r.documents, 2);
  EXPECT_EQ(r.bad_lines, 3);
  for (const char* part : {"in.jsonl:3: no key \"n\"", "in.jsonl:4: not valid JSON", "in.jsonl:5: the value of \"n\"",
                           "skipped 3 broken lines"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
  EXPECT_EQ(read_dataset(dir.file("out_text_document")), (Documents{{{'a'}}, {{'e'}}}));
  EXPECT_EQ(read_dataset(dir.file("out_n_document")), (Documents{{{'1'}}, {{'5'}}}));
  // Tokens of a refused line are removed too.
  config = byte_config(dir, dir.write("n.jsonl", json_line("1 2") + json_line("3 x") + json_line("4")));
  config.tokenizer = {.type = "NullTokenizer", .vocab_size = 100};
  config.skip_bad_lines = true;
  EXPECT_EQ(preprocess(config).bad_lines, 1);
  EXPECT_EQ(read_dataset(dir.file("out_text_document")), (Documents{{{1, 2}}, {{4}}}));
}

}  // namespace megalith
