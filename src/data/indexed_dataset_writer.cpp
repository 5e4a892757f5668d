#include "data/indexed_dataset_writer.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/mapped_file.h"
#include "data/indexed_dataset.h"
#include "data/indexed_format.h"

namespace megalith {

IndexedDatasetWriter::IndexedDatasetWriter(std::string prefix, TokenType type)
    : prefix_(std::move(prefix)),
      type_(type),
      bin_(prefix_ + ".bin"),
      idx_(prefix_ + ".idx"),
      lengths_(prefix_ + ".idx.lengths.partial"),
      document_ends_(prefix_ + ".idx.documents.partial") {}

void IndexedDatasetWriter::add_sequence(std::span<const i32> tokens) {
  check(tokens.size() <= std::size_t(std::numeric_limits<i32>::max()),
        "a sequence of {} tokens for {}.bin is too long: split the document, at most 2147483647 fit", tokens.size(),
        prefix_);
  dispatch_token_type(type_, [&]<class T>() {
    values_.resize(tokens.size() * sizeof(T));
    T* values = reinterpret_cast<T*>(values_.data());
    bool fits = true;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      values[i] = T(tokens[i]);
      fits &= double(values[i]) == double(tokens[i]);
    }
    if (!fits) fail_token(tokens);
  });
  bin_.write(values_.data(), values_.size());
  lengths_.push(i32(tokens.size()));
  tokens_ += i64(tokens.size());
}

void IndexedDatasetWriter::fail_token(std::span<const i32> tokens) const {
  dispatch_token_type(type_, [&]<class T>() {
    for (i32 token : tokens) {
      check(double(T(token)) == double(token),
            "token {} of document {} for {}.bin does not fit {}: the tokenizer's vocabulary needs a wider type", token,
            documents(), prefix_, name_of(type_));
    }
  });
}

void IndexedDatasetWriter::end_document() { document_ends_.push(lengths_.size()); }

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

void IndexedDatasetWriter::add_dataset(const std::string& prefix) {
  const IndexedDataset data(prefix);
  check(data.type() == type_, "{} holds {} where {} is due: datasets of one type can be put together; make it again",
        prefix, name_of(data.type()), name_of(type_));
  check(!data.has_modes(), "{} is a multimodal dataset, with modes: those are not put together", prefix);
  const MappedFile tokens(prefix + ".bin");
  constexpr i64 kBlock = i64{1} << 22;
  for (i64 at = 0; at < tokens.size(); at += kBlock) {
    const i64 size = std::min(kBlock, tokens.size() - at);
    bin_.write(tokens.bytes().data() + at, std::size_t(size));
    tokens.release(at, size);
  }
  const i64 before = lengths_.size();
  for (i64 s = 0; s < data.sequences(); ++s) lengths_.push(i32(data.length(s)));
  for (i64 d = 1; d <= data.documents(); ++d) document_ends_.push(before + data.document_begin(d));
  tokens_ += data.tokens();
}

void IndexedDatasetWriter::write_index() {
  idx_.write(kIndexMagic.data(), kIndexMagic.size());
  idx_.write_value(kIndexVersion);
  idx_.write_value(u8(type_));
  idx_.write_value(u64(lengths_.size()));
  idx_.write_value(u64(document_ends_.size() + 1));
  lengths_.read([&](std::span<const i32> lengths) { idx_.write_all(lengths); });
  i64 pointer = 0;
  lengths_.read([&](std::span<const i32> lengths) {
    for (i32 length : lengths) {
      idx_.write_value(pointer);
      pointer += length * size_of(type_);
    }
  });
  idx_.write_value(i64{0});
  document_ends_.read([&](std::span<const i64> ends) { idx_.write_all(ends); });
}

void IndexedDatasetWriter::close() {
  write_index();
  bin_.close();
  idx_.close();
}

void IndexedDatasetWriter::publish() {
  std::error_code ignored;
  std::filesystem::remove(prefix_ + ".idx", ignored);  // an old index must never be read with new tokens
  bin_.publish();
  idx_.publish();
}

}  // namespace megalith
