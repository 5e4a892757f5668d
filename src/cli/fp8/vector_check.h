// What fp8-check says of a file: a line for each tensor that it holds ours against.
#pragma once
#include "cli/fp8/vector_file.h"
#include "quant/fp8_format.h"
#include "quant/product.h"

namespace megalith::fp8 {

class VectorCheck {
 public:
  explicit VectorCheck(VectorFile& file) : file_(file) {}

  // Bit for bit, but for NaN: any NaN is as good as another. T: u8, i32, float, double, bf16.
  template <class T>
  void equal(const std::string& tensor, const Shape& shape, std::span<const T> ours);
  // Codes of fp8.
  void codes(const std::string& tensor, const Shape& shape, quant::Fp8 format, std::span<const u8> ours);
  // Numbers: 0 and -0 are one.
  void same_numbers(const std::string& tensor, const Shape& shape, std::span<const float> ours);
  // bf16 numbers, each within its bound.
  void near(const std::string& tensor, const Shape& shape, std::span<const bf16> ours, std::span<const double> bounds);
  // f64 products [rows, rows]: within 2^-13 of the sum of absolute products, a tenth of it in the quadratic mean.
  // ours: of quant::multiply, unless they are given.
  void product(const std::string& tensor, const quant::Operand& a, const quant::Operand& b,
               std::span<const float> ours = {});
  // Of fp8 codes, by tensor cores of Hopper: within what these lose (quant/tensor_core.h), half of it in the quadratic
  // mean.
  void product_of_codes(const std::string& tensor, const quant::Operand& a, const quant::Operand& b,
                        std::span<const float> ours);
  // A line that says why there is nothing of ours to hold against the tensor.
  void lacks(const std::string& tensor, const std::string& why);
  // A line for each tensor that no check has read.
  void tell_unread();

  int held() const { return held_; }
  int failed() const { return failed_; }
  int lacking() const { return lacking_; }

 private:
  template <class T, class Same>
  void compare(const std::string& tensor, const Shape& shape, std::span<const T> ours, Same&& same);
  void line(bool ok, const std::string& tensor, const Shape& shape, const std::string& text);

  VectorFile& file_;
  int held_ = 0, failed_ = 0, lacking_ = 0;
};

}  // namespace megalith::fp8
