// A training set of samples of equal size, accessed by index.
#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/batch.h"

namespace megalith {

// An array that each sample has, of `length` elements. In a batch it is [sequences, length], row-major.
struct SampleArray {
  const char* name;
  DType dtype;  // i32 or f32
  i64 length;
};

// The destination of a sample: one row of each array of a batch. An array that the batch lacks is empty.
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

// How far a token file has been read.
struct DatasetUse {
  std::string name;  // file prefix
  i64 samples = 0;
  double epochs = 0;  // epochs of the split, measured in tokens
  bool operator==(const DatasetUse&) const = default;
};

// The part of a document in a sample.
struct DocumentPart {
  std::string prefix;            // file prefix
  i64 document = 0;              // index in the file
  i64 token = 0;                 // index in the document of the first token in the sample
  i64 tokens = 0;                // so many
  i64 position = 0;              // position in the sample of that token
  i64 byte = -1, end_byte = -1;  // byte offsets in the token file; -1: unknown
  bool operator==(const DocumentPart&) const = default;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual i64 size() const = 0;        // samples
  virtual i64 seq_length() const = 0;  // tokens of a sample
  virtual std::vector<SampleArray> arrays() const = 0;
  // Writes sample i, 0 <= i < size(), to rows of zeros. Several threads may call it, each with its own rows.
  virtual void get(i64 i, const SampleRow& row) const = 0;
  // How far samples 0 .. samples - 1 read each file of this dataset; samples <= size().
  virtual std::vector<DatasetUse> use(i64 samples) const = 0;
  // Whether the dataset, made for another number of samples, has the same order of samples. False: perhaps not.
  virtual bool keeps_order(i64 /*samples*/) const { return false; }
  // The documents of sample i, in order. Empty if this class does not know them.
  virtual std::vector<DocumentPart> documents(i64 /*i*/) const { return {}; }
};

// The arrays of a decoder's sample. document_starts has for each position the first position of its document.
std::vector<SampleArray> decoder_arrays(i64 seq_length, bool document_starts);

// An array of zeros for this many sequences.
Batch::Array empty_array(const SampleArray& array, i64 sequences);

}  // namespace megalith
