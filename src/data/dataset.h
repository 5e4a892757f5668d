// A training set that has samples of the same sizes, by number.
#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/batch.h"

namespace megalith {

// An array that each sample has: `length` elements of it. In a batch it is [sequences, length], row-major.
struct SampleArray {
  const char* name;
  DType dtype;  // i32 or f32
  i64 length;
};

// Where one sample goes: a row of a batch that has the arrays of the dataset. An array that the batch lacks is empty.
class SampleRow {
 public:
  SampleRow(Batch& batch, i64 row) : batch_(batch), row_(row) {}
  std::span<i32> ints(const char* name) const { return row_of<i32>(name); }
  std::span<float> floats(const char* name) const { return row_of<float>(name); }

 private:
  template <class T>
  std::span<T> row_of(const char* name) const {
    const auto array = batch_.arrays.find(name);
    if (array == batch_.arrays.end()) return {};
    std::vector<T>& all = std::get<std::vector<T>>(array->second);
    const std::size_t length = all.size() / std::size_t(batch_.sequences);
    return std::span(all).subspan(std::size_t(row_) * length, length);
  }

  Batch& batch_;
  i64 row_;
};

// How far a file of tokens has been read.
struct DatasetUse {
  std::string name;  // the prefix of its files
  i64 samples = 0;
  double epochs = 0;  // in tokens of the split
  bool operator==(const DatasetUse&) const = default;
};

// The range of a document in a sample.
struct DocumentPart {
  std::string prefix;            // of the files
  i64 document = 0;              // its number in them
  i64 token = 0;                 // the first of its tokens that the sample has
  i64 tokens = 0;                // so many
  i64 position = 0;              // of the first one in the sample
  i64 byte = -1, end_byte = -1;  // byte offset in the token file; -1: there is none
  bool operator==(const DocumentPart&) const = default;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual i64 size() const = 0;        // samples
  virtual i64 seq_length() const = 0;  // tokens of a sample
  virtual std::vector<SampleArray> arrays() const = 0;
  // Writes sample i, i in 0..size()-1, over zeros. May be called by several threads, with rows of their own.
  virtual void get(i64 i, const SampleRow& row) const = 0;
  // What samples 0 .. samples - 1 take from each file that this consists of; samples <= size().
  virtual std::vector<DatasetUse> use(i64 samples) const = 0;
  // What sample i is cut from, in its order; empty: this kind of dataset does not tell.
  virtual std::vector<DocumentPart> documents(i64 /*i*/) const { return {}; }
};

// The arrays of what a decoder learns from; document_starts has for each position the first position of its document.
std::vector<SampleArray> decoder_arrays(i64 seq_length, bool document_starts);

// An array of zeros of so many sequences.
Batch::Array empty_array(const SampleArray& array, i64 sequences);

}  // namespace megalith
