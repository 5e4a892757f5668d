// golden.safetensors: the results of another program. It records which tensors were read.
#pragma once
#include <set>

#include "base/batch.h"
#include "ckpt/tensors/safetensors.h"

namespace megalith {

class GoldenFile {
 public:
  explicit GoldenFile(const std::string& dir) : files_(TensorFiles::open_file(dir + "/golden.safetensors")) {}

  bool has(const std::string& name) const { return files_.find(name) != nullptr; }
  const Shape& shape(const std::string& name) const { return files_.at(name).shape; }
  std::vector<float> floats(const std::string& name);  // also of integers
  std::vector<i32> ints(const std::string& name);      // of i32
  Batch batch(int i);                                  // batchI.input_ids and batchI.targets [b,s]; all count
  std::vector<std::string> unread() const;             // names that no check has read
  void skip(const std::string& prefix);                // marks names with this prefix as read
  std::vector<std::string> names(const std::string& prefix) const;  // names with this prefix, without it

 private:
  std::vector<i32> ids(int batch, const char* what);
  TensorFiles files_;
  std::set<std::string> read_;
};

}  // namespace megalith
