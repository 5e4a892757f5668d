// Checks that several prepare() make, with one wording.
#pragma once
#include <algorithm>
#include <string_view>

#include "base/dtype.h"

namespace megalith::cuda {

inline void check_dtype(std::string_view op, DType t, std::initializer_list<DType> among) {
  check(std::find(among.begin(), among.end(), t) != among.end(), "[{}] has no CUDA kernel for {}: use --device cpu", op,
        name_of(t));
}
inline void check_activation(std::string_view op, DType t) {
  check_dtype(op, t, {DType::f32, DType::bf16, DType::f16});
}
inline void check_number(std::string_view op, DType t) {
  check_dtype(op, t, {DType::f32, DType::bf16, DType::f16, DType::f64});
}

}  // namespace megalith::cuda
