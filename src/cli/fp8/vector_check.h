// The output of fp8-check: a line for each tensor that it compares.
#pragma once
#include "cli/fp8/vector_file.h"
#include "quant/fp8_format.h"
#include "quant/product.h"

namespace megalith::fp8 {

class VectorCheck {
 public:
  explicit VectorCheck(VectorFile& file) : file_(file) {}

  // Bit for bit, except that all NaN are equal. T: u8, i32, float, double, bf16.
  template <class T>
  void equal(const std::string& tensor, const Shape& shape, std::span<const T> ours);
  // fp8 codes.
  void codes(const std::string& tensor, const Shape& shape, quant::Fp8 format, std::span<const u8> ours);
  // Numbers: 0 equals -0.
  void same_numbers(const std::string& tensor, const Shape& shape, std::span<const float> ours);
  // bf16 numbers, each with its bound.
  void near(const std::string& tensor, const Shape& shape, std::span<const bf16> ours, std::span<const double> bounds);
  // f64 products [rows, rows]: within 2^-13 of the sum of absolute products, and a tenth of that in the root mean
  // square. ours: by default quant::multiply.
  void product(const std::string& tensor, const quant::Operand& a, const quant::Operand& b,
               std::span<const float> ours = {});
  // Products of fp8 codes by Hopper's tensor cores: within their loss (quant/tensor_core.h), and half of it in the
  // root mean square.
  void product_of_codes(const std::string& tensor, const quant::Operand& a, const quant::Operand& b,
                        std::span<const float> ours);
  // A line with the reason why we have no result for the tensor.
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
