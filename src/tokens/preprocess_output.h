// The datasets that preprocess-data writes, one per key. With several parts, documents go to them in turn, and the
// parts are joined at the end. That is the order of Megatron's --partitions.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "data/indexed_dataset_writer.h"
#include "tokens/document_encoder.h"

namespace megalith {

class PreprocessOutput {
 public:
  // prefixes: of each key's dataset. Parts are PREFIX.partial/0 and so on, so leftovers of a killed run do not look
  // like datasets. The end deletes them.
  PreprocessOutput(std::vector<std::string> prefixes, int parts, TokenType type);
  ~PreprocessOutput();

  void add(const EncodedChunk& chunk);

  // Publishes all datasets once all are on disk. Without this call none of them stays.
  void finish();

 private:
  void write(const EncodedDocuments& documents, size_t key);
  std::string folder(size_t key) const;
  std::string part_name(size_t key, size_t part) const;
  std::unique_ptr<IndexedDatasetWriter> take_whole(size_t key);

  std::vector<std::string> prefixes_;
  TokenType type_;
  std::vector<std::vector<std::unique_ptr<IndexedDatasetWriter>>> writers_;  // by key, then by part
  i64 documents_ = 0;
};

}  // namespace megalith
