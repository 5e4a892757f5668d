// A file of test vectors (NAME.safetensors), read with types and shapes. It records which tensors were read.
#pragma once
#include <filesystem>
#include <set>

#include "ckpt/tensors/safetensors.h"

namespace megalith::fp8 {

class VectorFile {
 public:
  explicit VectorFile(const std::string& path)
      : name_(std::filesystem::path(path).stem()), files_(TensorFiles::open_file(path)) {}

  const std::string& name() const { return name_; }  // "casts"
  const std::string& path() const { return files_.where(); }
  bool has(const std::string& tensor) const { return files_.find(tensor) != nullptr; }
  std::vector<std::string> unread() const;  // tensors that no check has read
  // The distinct X of tensors PREFIXX/..., in the file's order.
  std::vector<std::string> groups(const std::string& prefix) const;
  std::vector<std::string> names(const std::string& prefix) const;  // X of tensors PREFIXX

  // Error if it is missing, has another number of dims, or has a dim of size 0.
  const Shape& shape(const std::string& tensor, size_t dims) const;
  // T: u8, i32, float, double, bf16. Error if it is missing, or if type or shape differ.
  template <class T>
  std::vector<T> read(const std::string& tensor, const Shape& shape);
  void pass_over(const std::string& tensor);  // counts as read; Error if it is missing
  std::vector<float> read_halves(const std::string& tensor, const Shape& shape);  // F16

 private:
  const TensorInfo& at(const std::string& tensor, const char* stored_type, const Shape& shape);

  std::string name_;
  TensorFiles files_;
  std::set<std::string> read_;
};

}  // namespace megalith::fp8
