// The input of a training step: micro-batches, one after another. Their producer implements BatchSource.
#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/dtype.h"

namespace megalith {

// A micro-batch of one data-parallel rank: arrays by name, row-major [sequences, seq_length], or [sequences] of one
// value a sequence. A model reads the arrays that it has data leaves for (models/model.h). The data sets of a GPT give
//   tokens, labels     i32  ids; where loss_mask is 0 a label may be meaningless
//   loss_mask          f32  1: this position counts in the loss
//   position_ids       i32
//   document_starts    i32  first position of each position's document; only with reset_attention_mask
//   rows               i64  [sequences]: how many samples all ranks had consumed before this one
struct Batch {
  using Array = std::variant<std::vector<i32>, std::vector<i64>, std::vector<float>>;

  i64 sequences = 0, seq_length = 0;
  std::map<std::string, Array> arrays = {};

  // An array of this batch; a new empty one if there is none with this name.
  std::vector<i32>& ints(const std::string& name) { return get<i32>(name); }
  std::vector<i64>& longs(const std::string& name) { return get<i64>(name); }
  std::vector<float>& floats(const std::string& name) { return get<float>(name); }
  const std::vector<i32>& ints(const std::string& name) const { return std::get<std::vector<i32>>(arrays.at(name)); }
  const std::vector<i64>& longs(const std::string& name) const { return std::get<std::vector<i64>>(arrays.at(name)); }
  const std::vector<float>& floats(const std::string& name) const {
    return std::get<std::vector<float>>(arrays.at(name));
  }
  bool operator==(const Batch&) const = default;

 private:
  template <class T>
  std::vector<T>& get(const std::string& name) {
    return std::get<std::vector<T>>(arrays.try_emplace(name, std::vector<T>()).first->second);
  }
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual Batch next() = 0;                   // Error if there is none left
  virtual i64 consumed_samples() const = 0;   // by all ranks, counting the batches handed out so far
  virtual double seconds_waited() const = 0;  // for batches so far
};

}  // namespace megalith
