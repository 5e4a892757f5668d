// A training set that has samples of one length, by number.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// Where one sample goes: spans of seq_length elements. document_starts is empty if it is not wanted.
struct SampleRow {
  std::span<i32> tokens, labels;
  std::span<float> loss_mask;
  std::span<i32> position_ids;
  std::span<i32> document_starts = {};  // per position the first position of its document
};

// How far a file of tokens has been read.
struct DatasetUse {
  std::string name;  // the prefix of its files
  i64 samples = 0;
  double epochs = 0;  // in tokens of the split
  bool operator==(const DatasetUse&) const = default;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual i64 size() const = 0;        // samples
  virtual i64 seq_length() const = 0;  // tokens of a sample
  virtual bool has_document_starts() const = 0;
  // Writes sample i, i in 0..size()-1. May be called by several threads.
  virtual void get(i64 i, const SampleRow& row) const = 0;
  // What samples 0 .. samples - 1 take from each file that this consists of; samples <= size().
  virtual std::vector<DatasetUse> use(i64 samples) const = 0;
};

}  // namespace megalith
