// Generated documents for --mock-data, the same as Megatron's.
#pragma once
#include <string>
#include <vector>

#include "data/token_source.h"

namespace megalith {

// 100000 documents of 1 to 4095 tokens. One of length L has 1, 2, .., L-1 (each modulo vocab_size), then eod.
class MockSource : public TokenSource {
 public:
  MockSource(i64 vocab_size, i64 eod);  // Error if there is no vocabulary, or no eod in it

  const std::string& name() const override { return name_; }
  i64 sequences() const override { return i64(lengths_.size()); }
  i64 length(i64 sequence) const override { return lengths_[std::size_t(sequence)]; }
  void read(i64 sequence, i64 offset, std::span<i32> out) const override;

 private:
  std::string name_ = "mock data";
  i64 vocab_size_, eod_;
  std::vector<i32> lengths_;
};

}  // namespace megalith
