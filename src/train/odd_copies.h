// Finds ranks whose replicas of weights differ from the others'. It only compares the ranks' reports.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// A rank's report on one weight, or on several together.
struct CopyHash {
  std::string block;   // equal where ranks hold the same part of it
  std::string weight;  // "": of all weights of these blocks
  u64 hash = 0;
};
std::string text_of(std::span<const CopyHash> copies);
std::vector<CopyHash> copies_of(const std::string& text);  // Error if it is not of text_of()

struct OddCopy {
  int rank = 0;
  std::string weight;       // the first one
  i64 weights = 0;          // how many weights the report names as one
  bool is_clear = false;    // more than half of the copies agree, and this one is not of them
  std::vector<int> others;  // that hold the same part of it
};

// By rank, from each rank's text. Where no more than half of the copies agree all of them are odd.
std::vector<OddCopy> odd_copies(std::span<const std::string> texts);

}  // namespace megalith
