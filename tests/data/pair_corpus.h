// A corpus whose documents come in pairs, its database of chunks and its samples.
#pragma once
#include <algorithm>
#include <random>

#include "data/gpt_dataset.h"
#include "data/retro/chunk_database.h"

namespace megalith::pair_corpus {

constexpr i64 kChunk = 16, kSeq = 64, kVocabulary = 500;
constexpr i32 kRetroEod = 499;

// Documents 2i and 2i + 1 have another first line and the same body.
class PairSource : public TokenSource {
 public:
  explicit PairSource(i64 pairs) {
    std::mt19937 draw(5);
    const auto words = [&](i64 n) {
      std::vector<i32> out;
      for (i64 i = 0; i < n; ++i) out.push_back(i32(draw() % (kVocabulary - 1)));
      return out;
    };
    for (i64 i = 0; i < pairs; ++i) {
      const std::vector<i32> body = words(60 + i64(draw() % 70));
      for (int twin = 0; twin < 2; ++twin) {
        std::vector<i32> document = words(3 + i64(draw() % 6));
        document.insert(document.end(), body.begin(), body.end()), document.push_back(kRetroEod);
        documents_.push_back(std::move(document));
      }
    }
  }
  const std::string& name() const override { return name_; }
  i64 sequences() const override { return i64(documents_.size()); }
  i64 length(i64 sequence) const override { return i64(documents_[std::size_t(sequence)].size()); }
  void read(i64 sequence, i64 offset, std::span<i32> out) const override {
    std::copy_n(documents_[std::size_t(sequence)].begin() + offset, out.size(), out.begin());
  }

 private:
  std::string name_ = "pairs";
  std::vector<std::vector<i32>> documents_;
};

struct Corpus {
  std::shared_ptr<const PairSource> source = std::make_shared<PairSource>(60);
  ChunkDatabase database = ChunkDatabase::cut(source, {0, source->sequences()}, kChunk, kRetroEod);
  GptDataset samples{
      source,
      build_gpt_index(*source, {.sequences = {0, source->sequences()}, .samples = 0, .seq_length = kSeq}),
      {.seq_length = kSeq, .vocab_size = kVocabulary, .eod = kRetroEod}};
};

}  // namespace megalith::pair_corpus
