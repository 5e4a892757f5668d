#include "data/indexed_dataset.h"

#include <cstring>
#include <random>

#include "data/merge_datasets.h"
#include "tests/data/data_test_util.h"

namespace megalith {
namespace {

std::vector<i32> tokens_of(const IndexedDataset& data, i64 sequence) {
  std::vector<i32> tokens(data.length(sequence));
  data.read(sequence, 0, tokens);
  return tokens;
}

// The worked example of the format: three documents, the last of them empty.
std::vector<std::vector<std::vector<i32>>> example() { return {{{10, 20, 30}}, {{258}, {65535, 7, 1}}, {}}; }

void write(const std::string& prefix, TokenType type, const std::vector<std::vector<std::vector<i32>>>& documents) {
  IndexedDatasetWriter writer(prefix, type);
  for (const auto& document : documents) {
    std::vector<i32> tokens, lengths;
    for (const auto& sequence : document) {
      tokens.insert(tokens.end(), sequence.begin(), sequence.end());
      lengths.push_back(i32(sequence.size()));
    }
    writer.add_document(tokens, lengths);
  }
  writer.finish();
}

// Opens the files and, on success, reads everything. Errors are fine, anything else is a failure.
bool readable(const std::string& prefix) {
  try {
    const IndexedDataset data(prefix);
    for (i64 s = 0; s < data.sequences(); ++s) tokens_of(data, s);
    for (i64 d = 0; d <= data.documents(); ++d) EXPECT_LE(data.document_begin(d), data.sequences());
    return true;
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    EXPECT_NE(std::string(e.what()).find(prefix), std::string::npos) << e.what();
    return false;
  }
}

}  // namespace

TEST(IndexedDataset, files_equal_megatrons) {
  for (const std::string& file : golden_vectors("indexed_dataset.json")) {
    SCOPED_TRACE(file);
    const TempDir dir;
    const Json v = read_json(file)["uint16_three_docs"];
    write(dir / "a", TokenType::uint16, v["documents"].get<std::vector<std::vector<std::vector<i32>>>>());
    EXPECT_EQ(read_bytes(dir / "a.idx"), from_hex(v["idx"]));
    EXPECT_EQ(read_bytes(dir / "a.bin"), from_hex(v["bin"]));
  }
}

TEST(IndexedDataset, reads_megatrons_files) {
  for (const std::string& file : golden_vectors("indexed_dataset.json")) {
    SCOPED_TRACE(file);
    const TempDir dir;
    const Json vectors = read_json(file);
    for (const auto& [name, v] : vectors.items()) {
      write_bytes(dir / (name + ".idx"), from_hex(v["idx"]));
      write_bytes(dir / (name + ".bin"), from_hex(v["bin"]));
      const IndexedDataset data(dir / name);
      EXPECT_EQ(name_of(data.type()), v["dtype"]);
      EXPECT_EQ(data.has_modes(), v.contains("modes"));
      ASSERT_EQ(data.documents(), i64(v["documents"].size()));
      i64 sequence = 0;
      for (i64 d = 0; d < data.documents(); ++d) {
        EXPECT_EQ(data.document_begin(d), sequence);
        for (const Json& expected : v["documents"][d])
          EXPECT_EQ(tokens_of(data, sequence++), expected.get<std::vector<i32>>());
      }
      EXPECT_EQ(data.sequences(), sequence);
    }
  }
}

TEST(IndexedDataset, every_type_comes_back) {
  const TempDir dir;
  for (int code = 1; code <= 8; ++code) {
    const TokenType type = TokenType(code);
    const std::vector<std::vector<std::vector<i32>>> documents = {{{0, 1, 127}}, {}, {{5}, {6, 7}}, {{}}};
    write(dir / "t", type, documents);
    const IndexedDataset data(dir / "t");
    EXPECT_EQ(data.type(), type);
    EXPECT_EQ(data.tokens(), 6);
    EXPECT_EQ(tokens_of(data, 0), documents[0][0]);
    EXPECT_EQ(tokens_of(data, 2), documents[2][1]);
    EXPECT_EQ(data.length(3), 0);
    std::vector<i32> part(2);
    data.read(0, 1, part);
    EXPECT_EQ(part, (std::vector<i32>{1, 127}));
  }
}

TEST(IndexedDataset, type_by_vocabulary) {
  EXPECT_EQ(token_type_for_vocab(65499), TokenType::uint16);
  EXPECT_EQ(token_type_for_vocab(65500), TokenType::int32);
  EXPECT_EQ(token_type_for_vocab(0), TokenType::int32);
}

TEST(IndexedDataset, an_empty_one_is_readable) {
  const TempDir dir;
  write(dir / "e", TokenType::int32, {});
  EXPECT_EQ(read_bytes(dir / "e.idx").size(), 42u);
  const IndexedDataset data(dir / "e");
  EXPECT_EQ(data.sequences(), 0);
  EXPECT_EQ(data.documents(), 0);
  std::vector<i32> none;
  EXPECT_NE(error_of([&] { data.read(0, 0, none); }), "");
}

TEST(IndexedDataset, reading_outside_is_an_error) {
  const TempDir dir;
  write(dir / "a", TokenType::uint16, example());
  const IndexedDataset data(dir / "a");
  std::vector<i32> two(2);
  for (auto [sequence, offset] : {std::pair<i64, i64>{-1, 0}, {3, 0}, {0, 2}, {0, -1}, {1, 0}, {0, 1ll << 62}})
    EXPECT_NE(error_of([&, s = sequence, o = offset] { data.read(s, o, two); }), "");
}

TEST(IndexedDataset, missing_and_foreign_files) {
  const TempDir dir;
  EXPECT_NE(error_of([&] { IndexedDataset(dir / "none"); }).find("none.idx"), std::string::npos);
  write(dir / "a", TokenType::uint16, example());
  std::filesystem::remove(dir / "a.bin");
  EXPECT_NE(error_of([&] { IndexedDataset(dir / "a"); }).find("a.bin"), std::string::npos);
  std::filesystem::create_directory(dir / "a.bin");
  EXPECT_NE(error_of([&] { IndexedDataset(dir / "a"); }).find("not a regular file"), std::string::npos);
  write(dir / "b", TokenType::uint16, example());
  write_bytes(dir / "b.idx", std::vector<u8>(200, 'x'));
  EXPECT_NE(error_of([&] { IndexedDataset(dir / "b"); }).find("MMIDIDX"), std::string::npos);
}

TEST(IndexedDataset, every_truncation_is_an_error) {
  const TempDir dir;
  write(dir / "a", TokenType::uint16, example());
  for (const char* file : {"a.idx", "a.bin"}) {
    const std::vector<u8> whole = read_bytes(dir / file);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      write_bytes(dir / file, std::vector<u8>(whole.begin(), whole.begin() + n));
      EXPECT_FALSE(readable(dir / "a")) << file << " cut to " << n;
    }
    std::vector<u8> longer = whole;
    longer.push_back(0);
    write_bytes(dir / file, longer);
    EXPECT_FALSE(readable(dir / "a")) << file << " with one byte more";
    write_bytes(dir / file, whole);
    EXPECT_TRUE(readable(dir / "a"));
  }
}

TEST(IndexedDataset, every_flipped_bit_of_the_index_is_noticed) {
  const TempDir dir;
  write(dir / "a", TokenType::uint16, example());
  const std::vector<u8> whole = read_bytes(dir / "a.idx");
  int accepted = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<u8> damaged = whole;
      damaged[at] ^= u8(1 << bit);
      write_bytes(dir / "a.idx", damaged);
      accepted += readable(dir / "a");
    }
  // Only two kinds of changes may be undetected: the type code (int16 has uint16's size), and the first sequence of a
  // middle document.
  EXPECT_LE(accepted, 8);
}

TEST(IndexedDataset, hostile_headers_never_crash) {
  const TempDir dir;
  write(dir / "a", TokenType::uint16, example());
  const std::vector<u8> whole = read_bytes(dir / "a.idx");
  std::mt19937_64 random(1);
  const u64 values[] = {0,          1,          2,          3,     5,          1ull << 31, 1ull << 32,
                        1ull << 60, 1ull << 61, 1ull << 63, ~0ull, ~0ull / 12, ~0ull / 8};
  for (int round = 0; round < 1500; ++round) {
    std::vector<u8> damaged = whole;
    const u64 value = random() % 3 ? values[random() % std::size(values)] : random();
    const std::size_t at = random() % 4 == 0 ? 18 + 8 * (random() % 2) : 9 + random() % (whole.size() - 17);
    std::memcpy(&damaged[at], &value, random() % 8 + 1);
    if (random() % 8 == 0) damaged.resize(random() % (2 * whole.size()));
    write_bytes(dir / "a.idx", damaged);
    readable(dir / "a");
  }
}

TEST(IndexedDataset, values_that_are_no_ids_are_named) {
  const TempDir dir;
  write(dir / "f", TokenType::float32, {{{1, 2}}});
  std::vector<u8> bytes = read_bytes(dir / "f.bin");
  for (float bad :
       {1.5f, 3e9f, -3e9f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::memcpy(&bytes[4], &bad, 4);
    write_bytes(dir / "f.bin", bytes);
    const IndexedDataset data(dir / "f");
    EXPECT_NE(error_of([&] { tokens_of(data, 0); }).find("token 1 of document 0"), std::string::npos);
  }
  write(dir / "l", TokenType::int64, {{{1}}});
  write_bytes(dir / "l.bin", {0, 0, 0, 0, 1, 0, 0, 0});
  EXPECT_NE(error_of([&] { tokens_of(IndexedDataset(dir / "l"), 0); }), "");
}

TEST(IndexedDatasetWriter, nothing_is_left_without_finish) {
  const TempDir dir;
  write(dir / "old", TokenType::uint16, example());
  const std::vector<u8> before = read_bytes(dir / "old.idx");
  {
    IndexedDatasetWriter writer(dir / "old", TokenType::uint16);
    writer.add_sequence(std::vector<i32>{1, 2});
  }
  EXPECT_EQ(read_bytes(dir / "old.idx"), before);
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir.path())) ++files;
  EXPECT_EQ(files, 2);
}

TEST(IndexedDatasetWriter, a_second_writer_of_one_dataset_is_refused) {
  const TempDir dir;
  IndexedDatasetWriter first(dir / "a", TokenType::uint16);
  first.add_document(std::vector<i32>{1, 2, 3}, std::vector<i32>{3});
  const auto second = [&] { IndexedDatasetWriter(dir / "a", TokenType::uint16); };
  EXPECT_NE(error_of(second).find("being written by another run"), std::string::npos);
  first.close();
  EXPECT_NE(error_of(second).find("being written by another run"), std::string::npos);
  first.publish();
  EXPECT_EQ(tokens_of(IndexedDataset(dir / "a"), 0), (std::vector<i32>{1, 2, 3}));
  write(dir / "a", TokenType::uint16, example());  // the lock is released
}

TEST(IndexedDatasetWriter, bad_input_is_refused) {
  const TempDir dir;
  EXPECT_NE(error_of([&] { IndexedDatasetWriter(dir / "no/such/folder/a", TokenType::int32); }).find("no/such"),
            std::string::npos);
  IndexedDatasetWriter writer(dir / "a", TokenType::uint16);
  for (i32 bad : {-1, 65536})
    EXPECT_NE(error_of([&] { writer.add_sequence(std::vector<i32>{bad}); }).find(std::to_string(bad)),
              std::string::npos);
  EXPECT_NE(error_of([&] { writer.add_document(std::vector<i32>{1, 2}, std::vector<i32>{1}); }), "");
  EXPECT_NE(error_of([&] { writer.add_document(std::vector<i32>{1}, std::vector<i32>{-1, 2}); }), "");
}

TEST(IndexedDatasetWriter, a_full_disk_is_reported) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const TempDir dir;
  std::filesystem::create_symlink("/dev/full", dir / "a.bin.partial");
  IndexedDatasetWriter writer(dir / "a", TokenType::int32);
  EXPECT_NE(error_of([&] {
              writer.add_document(std::vector<i32>(1000000), std::vector<i32>{1000000});
              writer.finish();
            }).find("No space left"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(dir / "a.idx"));
}

// More than the memory of a spool, so that files are used.
TEST(MergeDatasets, gives_the_bytes_of_one_writing) {
  const TempDir dir;
  std::mt19937 random(4);
  const std::string parts[] = {dir / "b", dir / "a", dir / "c"};
  IndexedDatasetWriter whole(dir / "whole", TokenType::int32);
  for (const std::string& part : {parts[1], parts[0], parts[2]}) {
    IndexedDatasetWriter writer(part, TokenType::int32);
    for (int d = part == parts[2] ? 0 : 150000; d > 0; --d) {
      std::vector<i32> tokens, lengths;
      for (u32 n = random() % 3; n > 0; --n) lengths.push_back(i32(1 + random() % 3));
      for (i32 length : lengths) {
        for (; length > 0; --length) tokens.push_back(i32(random() % 100000));
      }
      writer.add_document(tokens, lengths);
      whole.add_document(tokens, lengths);
    }
    writer.finish();
  }
  whole.finish();
  const std::vector<u8> bin = read_bytes(dir / "whole.bin"), idx = read_bytes(dir / "whole.idx");
  for (const char* file : {"whole.bin", "whole.idx"}) std::filesystem::remove(dir / file);
  write_bytes(dir / "notes.txt", {});
  EXPECT_EQ(datasets_in(dir.path()), (std::vector<std::string>{parts[1], parts[0], parts[2]}));
  const MergedDatasets merged = merge_datasets(datasets_in(dir.path()), dir / "merged");
  EXPECT_EQ(merged.documents, 300000);
  EXPECT_EQ(merged.tokens * 4, i64(bin.size()));
  EXPECT_EQ(read_bytes(dir / "merged.bin"), bin);
  EXPECT_EQ(read_bytes(dir / "merged.idx"), idx);
}

TEST(MergeDatasets, says_what_does_not_fit) {
  const TempDir dir;
  const auto error = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(error([&] { datasets_in(dir.path()); }).find("holds no dataset"), std::string::npos);
  write(dir / "a", TokenType::uint16, example());
  write(dir / "b", TokenType::int32, example());
  EXPECT_NE(error([&] { merge_datasets(datasets_in(dir.path()), dir / "out"); }).find("b holds int32 where uint16"),
            std::string::npos);
  EXPECT_NE(error([&] {
              merge_datasets({dir / "a", dir / "b"}, dir / "b");
            }).find("both an input and the output"),
            std::string::npos);
  std::filesystem::remove(dir / "b.idx");
  EXPECT_NE(error([&] { datasets_in(dir.path()); }).find("b.idx is not"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(dir / "out.bin"));
}

}  // namespace megalith
