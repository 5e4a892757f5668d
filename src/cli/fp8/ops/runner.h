// Runs single ops on a device, as training does.
#pragma once
#include <cstring>
#include <span>

#include "plan/interpreter.h"

namespace megalith::fp8 {

// A whole tensor in memory.
struct Array {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;

  template <class T>
  std::vector<T> as() const {
    std::vector<T> out(bytes.size() / sizeof(T));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
};

template <class T>
Array array_of(DType dtype, const Shape& shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {dtype, shape, {bytes.begin(), bytes.end()}};
}

class OpRunner {
 public:
  explicit OpRunner(const std::string& device);  // "cpu" or "cuda"; Error if the device is not available

  // The op's results. A value that the op changes in place is a result; `ins` stay unchanged.
  std::vector<Array> run(const AnyOp& op, const std::vector<Array>& ins) const;
  // Several ops with one input each, in one program. Returns each one's result number `result`.
  std::vector<Array> run_all(const std::vector<std::pair<AnyOp, std::vector<Array>>>& ops, size_t result) const;
  bool is_gpu() const { return backend_->name() != "cpu"; }

 private:
  std::unique_ptr<Backend> backend_;
};

}  // namespace megalith::fp8
