#include "tokens/preprocess.h"

#include <openssl/evp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/process_memory.h"
#include "data/indexed_dataset.h"
#include "tests/harness/packed.h"
#include "tests/tokens/helpers.h"

namespace megalith {

namespace {

using Documents = std::vector<std::vector<std::vector<i32>>>;  // document, sequence, token

Documents read_dataset(const std::string& prefix) {
  const IndexedDataset data(prefix);
  Documents documents(data.documents());
  for (i64 d = 0; d < data.documents(); ++d) {
    for (i64 s = data.document_begin(d); s < data.document_begin(d + 1); ++s) {
      std::vector<i32>& tokens = documents[d].emplace_back(data.length(s));
      data.read(s, 0, tokens);
    }
  }
  return documents;
}

PreprocessConfig byte_config(const TempDir& dir, const std::string& input) {
  return {.input = {input}, .output_prefix = dir.file("out"), .tokenizer = {.type = "ByteTokenizer"}};
}

std::vector<std::string> files_in(const TempDir& dir, const std::string& part) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path)) {
    const std::string name = entry.path().filename().string();
    if (name.find(part) != std::string::npos) found.push_back(name);
  }
  return found;
}

std::string sha256(const std::string& bytes) {
  u8 digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string json_line(const std::string& text) { return nlohmann::json{{"text", text}}.dump() + "\n"; }

// Several chunks of lines with texts of many lengths, some empty, one longer than a chunk.
std::string many_lines(int count) {
  std::mt19937 random(11);
  std::string lines;
  for (int i = 0; i < count; ++i) {
    std::string text(i == count / 2 ? 1500000 : random() % 7 == 0 ? 0 : random() % 400, ' ');
    for (char& c : text) c = "the ab\nthe 7"[random() % 12];
    lines += json_line(text);
  }
  return lines;
}

}  // namespace

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
  expect("is not one we have", [](auto& c) { c.tokenizer.type = "BPE"; });
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
      {"b.jsonl.gz", gzipped(two) + gzipped(rest) + std::string(512, '\0')},  // members and padding, as RFC 1952 has it
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

TEST(Preprocess, truncated_and_damaged_packed_files_are_errors) {
  const TempDir dir;
  const std::string lines = many_lines(300);
  const auto expect = [&](const char* name, const std::string& bytes, const char* part) {
    auto config = byte_config(dir, dir.write(name, bytes));
    config.skip_bad_lines = true;  // a cut file is not a bad line
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
  // What a tokenizer refuses is taken back too.
  config = byte_config(dir, dir.write("n.jsonl", json_line("1 2") + json_line("3 x") + json_line("4")));
  config.tokenizer = {.type = "NullTokenizer", .vocab_size = 100};
  config.skip_bad_lines = true;
  EXPECT_EQ(preprocess(config).bad_lines, 1);
  EXPECT_EQ(read_dataset(dir.file("out_text_document")), (Documents{{{1, 2}}, {{4}}}));
}

// Megatron deals lines to the partitions in turn and merges these one behind another; with --keep-sequential-samples it
// deals blocks.
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

// Eight times the documents, and what the process takes at most does not grow. In children, since it never falls again.
TEST(Preprocess, memory_does_not_grow_with_the_input) {
  const TempDir dir;
  const auto peak = [&](int copies) {
    std::string lines;
    for (int i = 0; i < 100000; ++i) lines += json_line("a");
    const auto config = byte_config(dir, dir.write("in.jsonl", lines));
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      PreprocessConfig c = config;
      c.input.assign(size_t(copies), config.input[0]);
      preprocess(c);
      const i64 bytes = peak_resident_bytes();
      _exit(write(ends[1], &bytes, sizeof bytes) == sizeof bytes ? 0 : 1);
    }
    i64 bytes = 0;
    EXPECT_EQ(read(ends[0], &bytes, sizeof bytes), ssize_t(sizeof bytes));
    close(ends[0]), close(ends[1]);
    waitpid(child, nullptr, 0);
    return bytes;
  };
  // Lengths and ends of 700,000 more documents would be 8 MB; buffers that are full only with more input are not.
  EXPECT_LT(peak(8), peak(1) + (i64{4} << 20));
}

// The child reads a pipe that never ends, so it is killed amid its work.
TEST(Preprocess, a_killed_run_leaves_nothing_under_the_final_names) {
  const TempDir dir;
  const std::string pipe = dir.file("in.jsonl");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const pid_t child = fork();
  if (child == 0) {
    preprocess(byte_config(dir, pipe));
    _exit(0);
  }
  {
    std::ofstream out(pipe, std::ios::binary);
    out << many_lines(20000) << std::flush;
    const std::string partial = dir.file("out_text_document.bin.partial");
    for (int i = 0; i < 1000 && (!std::filesystem::exists(partial) || std::filesystem::file_size(partial) == 0); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(std::filesystem::exists(partial));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
  for (const std::string& name : files_in(dir, "out")) EXPECT_TRUE(name.ends_with(".partial")) << name;
}

// A pipe without a reader stands where the parts are put together, so the child is killed when they are whole.
TEST(Preprocess, a_run_killed_with_its_parts_done_leaves_no_dataset) {
  const TempDir dir;
  auto config = byte_config(dir, dir.write("in.jsonl", json_line("a") + json_line("b")));
  config.partitions = 2;
  ASSERT_EQ(mkfifo(dir.file("out_text_document.bin.partial").c_str(), 0600), 0);
  const auto parts = [&] {
    i64 count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.path))
      count += entry.path().extension() == ".idx";
    return count;
  };
  const pid_t child = fork();
  if (child == 0) {
    preprocess(config);
    _exit(0);
  }
  for (int i = 0; i < 1000 && parts() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GT(parts(), 0);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  for (const std::string& name : files_in(dir, "out")) EXPECT_TRUE(name.ends_with(".partial")) << name;
}

}  // namespace megalith
