// The datasets that preprocess-data writes: one per key. With several parts, documents are dealt to them in turn, and
// the parts are put together at the end. That is the order of Megatron's --partitions.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "data/indexed_dataset_writer.h"
#include "tokens/document_encoder.h"

namespace megalith {

class PreprocessOutput {
 public:
  // prefixes: of the dataset of each key. Parts are PREFIX.partial/0 and so on, where nobody takes what a killed run
  // has left for datasets; they are gone at the end.
  PreprocessOutput(std::vector<std::string> prefixes, int parts, TokenType type);
  ~PreprocessOutput();

  void add(const EncodedChunk& chunk);

  // Publishes all datasets, none before all are on the disk; without it none of them is left.
  void finish();

 private:
  void write(const EncodedDocuments& documents, size_t key);
  std::string folder(size_t key) const;
  std::string part_name(size_t key, size_t part) const;
  std::unique_ptr<IndexedDatasetWriter> take_whole(size_t key);

  std::vector<std::string> prefixes_;
  TokenType type_;
  std::vector<std::vector<std::unique_ptr<IndexedDatasetWriter>>> writers_;  // of each key: of each part
  i64 documents_ = 0;
};

}  // namespace megalith
