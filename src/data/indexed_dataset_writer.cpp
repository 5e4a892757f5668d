#include "data/indexed_dataset_writer.h"

#include <filesystem>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "data/indexed_format.h"

namespace megalith {

IndexedDatasetWriter::IndexedDatasetWriter(std::string prefix, TokenType type)
    : prefix_(std::move(prefix)), type_(type), bin_(prefix_ + ".bin"), idx_(prefix_ + ".idx") {}

void IndexedDatasetWriter::add_sequence(std::span<const i32> tokens) {
  check(tokens.size() <= std::size_t(std::numeric_limits<i32>::max()),
        "a sequence of {} tokens for {}.bin is too long: split the document, at most 2147483647 fit", tokens.size(),
        prefix_);
  dispatch_token_type(type_, [&]<class T>() {
    std::vector<T> values(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      values[i] = T(tokens[i]);
      check(double(values[i]) == double(tokens[i]),
            "token {} of document {} for {}.bin does not fit {}: the tokenizer's vocabulary needs a wider type",
            tokens[i], documents(), prefix_, name_of(type_));
    }
    bin_.write_all(std::span<const T>(values));
  });
  lengths_.push_back(i32(tokens.size()));
  tokens_ += i64(tokens.size());
}

void IndexedDatasetWriter::end_document() { documents_.push_back(i64(lengths_.size())); }

void IndexedDatasetWriter::add_document(std::span<const i32> tokens, std::span<const i32> lengths) {
  const i64 total = std::accumulate(lengths.begin(), lengths.end(), i64{0});
  check(total == i64(tokens.size()), "document {} for {}.bin has {} tokens but its sequences add up to {}", documents(),
        prefix_, tokens.size(), total);
  for (i32 length : lengths) {
    check(length >= 0, "document {} for {}.bin has a sequence of length {}", documents(), prefix_, length);
    add_sequence(tokens.first(std::size_t(length)));
    tokens = tokens.subspan(std::size_t(length));
  }
  end_document();
}

void IndexedDatasetWriter::write_index() {
  idx_.write(kIndexMagic.data(), kIndexMagic.size());
  idx_.write_value(kIndexVersion);
  idx_.write_value(u8(type_));
  idx_.write_value(u64(lengths_.size()));
  idx_.write_value(u64(documents_.size()));
  idx_.write_all(std::span<const i32>(lengths_));
  i64 pointer = 0;
  for (i32 length : lengths_) {
    idx_.write_value(pointer);
    pointer += length * size_of(type_);
  }
  idx_.write_all(std::span<const i64>(documents_));
}

void IndexedDatasetWriter::finish() {
  write_index();
  bin_.close();
  idx_.close();
  std::error_code ignored;
  std::filesystem::remove(prefix_ + ".idx", ignored);  // an old index must never stand beside the new tokens
  bin_.publish();
  idx_.publish();
}

}  // namespace megalith
