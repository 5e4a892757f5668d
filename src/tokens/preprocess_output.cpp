#include "tokens/preprocess_output.h"

#include <filesystem>
#include <numeric>

namespace megalith {

namespace fs = std::filesystem;

PreprocessOutput::PreprocessOutput(std::vector<std::string> prefixes, int parts, TokenType type)
    : prefixes_(std::move(prefixes)), type_(type), writers_(prefixes_.size()) {
  for (size_t k = 0; k < prefixes_.size(); ++k) {
    std::error_code ignored;  // the writers report a problem with the folder
    if (parts > 1) fs::create_directory(folder(k), ignored);
    for (size_t p = 0; p < size_t(parts); ++p)
      writers_[k].push_back(std::make_unique<IndexedDatasetWriter>(parts > 1 ? part_name(k, p) : prefixes_[k], type));
  }
}

PreprocessOutput::~PreprocessOutput() {
  std::error_code ignored;
  for (size_t k = 0; k < prefixes_.size(); ++k) {
    const bool in_parts = writers_[k].size() > 1;
    writers_[k].clear();
    if (in_parts) fs::remove_all(folder(k), ignored);
  }
}

std::string PreprocessOutput::folder(size_t key) const { return prefixes_[key] + ".partial"; }

std::string PreprocessOutput::part_name(size_t key, size_t part) const {
  return folder(key) + "/" + std::to_string(part);
}

void PreprocessOutput::write(const EncodedDocuments& documents, size_t key) {
  std::span<const i32> tokens = documents.tokens, lengths = documents.lengths;
  size_t part = size_t(documents_) % writers_[key].size();
  for (i32 sequences : documents.sequences) {
    const std::span<const i32> mine = lengths.first(size_t(sequences));
    const size_t count = std::accumulate(mine.begin(), mine.end(), size_t{0});
    writers_[key][part]->add_document(tokens.first(count), mine);
    tokens = tokens.subspan(count);
    lengths = lengths.subspan(size_t(sequences));
    if (++part == writers_[key].size()) part = 0;
  }
}

void PreprocessOutput::add(const EncodedChunk& chunk) {
  for (size_t k = 0; k < prefixes_.size(); ++k) write(chunk.keys[k], k);
  documents_ += i64(chunk.keys[0].sequences.size());
}

// The writer of a key's dataset, with its metadata.
std::unique_ptr<IndexedDatasetWriter> PreprocessOutput::take_whole(size_t key) {
  if (writers_[key].size() == 1) return std::move(writers_[key][0]);
  for (auto& part : writers_[key]) part->finish();
  auto whole = std::make_unique<IndexedDatasetWriter>(prefixes_[key], type_);
  for (size_t p = 0; p < writers_[key].size(); ++p) whole->add_dataset(part_name(key, p));
  return whole;
}

void PreprocessOutput::finish() {
  std::vector<std::unique_ptr<IndexedDatasetWriter>> wholes;
  for (size_t k = 0; k < prefixes_.size(); ++k) {
    wholes.push_back(take_whole(k));
    wholes.back()->close();
  }
  for (auto& whole : wholes) whole->publish();
}

}  // namespace megalith
