// Shared by the tests of src/data: vectors, temporary folders, sources in memory.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "data/dataset.h"
#include "data/indexed_dataset_writer.h"
#include "data/token_source.h"
#include "tests/error_of.h"
#include "tests/golden.h"

namespace megalith {

using Json = nlohmann::json;

inline Json read_json(const std::string& path) { return Json::parse(std::ifstream(path)); }

class TempDir {
 public:
  TempDir() {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() / fmt::format("megalith-data-{}-{}", ::getpid(), number++);
    std::filesystem::create_directories(path_);
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline std::vector<u8> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, const std::vector<u8>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

inline std::vector<u8> from_hex(const std::string& hex) {
  std::vector<u8> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) bytes.push_back(u8(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

// Tokens of document d of length L: `(100 (d + 1) + j) mod 4999` for `j < L - 1`, then 4999, as in the sampling
// vectors.
inline std::vector<i32> rule_document(i64 d, i64 length) {
  std::vector<i32> tokens;
  for (i64 j = 0; j + 1 < length; ++j) tokens.push_back(i32((100 * (d + 1) + j) % 4999));
  if (length > 0) tokens.push_back(4999);
  return tokens;
}

class RuleSource : public TokenSource {
 public:
  explicit RuleSource(std::vector<i64> lengths) : lengths_(std::move(lengths)) {}
  const std::string& name() const override { return name_; }
  i64 sequences() const override { return i64(lengths_.size()); }
  i64 length(i64 sequence) const override { return lengths_.at(sequence); }
  void read(i64 sequence, i64 offset, std::span<i32> out) const override {
    const std::vector<i32> all = rule_document(sequence, length(sequence));
    check(offset >= 0 && offset + i64(out.size()) <= i64(all.size()), "read outside document {}", sequence);
    std::copy_n(all.begin() + offset, out.size(), out.begin());
  }

 private:
  std::string name_ = "rule";
  std::vector<i64> lengths_;
};

inline void write_rule_files(const std::string& prefix, const std::vector<i64>& lengths) {
  IndexedDatasetWriter writer(prefix, TokenType::uint16);
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    writer.add_sequence(rule_document(i64(d), lengths[d]));
    writer.end_document();
  }
  writer.finish();
}

// One sample with its own memory.
struct OwnedRow {
  std::vector<i32> tokens, labels;
  std::vector<float> loss_mask;
  std::vector<i32> position_ids, document_starts;
};

inline OwnedRow get_row(const Dataset& dataset, i64 i) {
  Batch one{.sequences = 1, .seq_length = dataset.seq_length()};
  for (const SampleArray& array : dataset.arrays()) one.arrays[array.name] = empty_array(array, 1);
  dataset.get(i, SampleRow(one, 0));
  return {one.ints("tokens"), one.ints("labels"), one.floats("loss_mask"), one.ints("position_ids"),
          one.ints("document_starts")};
}

}  // namespace megalith
