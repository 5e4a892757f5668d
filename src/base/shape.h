// A tensor's sizes, outermost dimension first.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

using Shape = std::vector<i64>;

inline i64 count(const Shape& s) {
  i64 n = 1;
  for (i64 d : s) n *= d;
  return n;
}
std::string to_string(const Shape& s);  // "[2, 3]"

// Of tensors in files; PyTorch has no more either. check_dims: Error, which begins with `what`, if there are more.
inline constexpr std::size_t kMaxDims = 64;
void check_dims(std::size_t dims, const std::string& what);

}  // namespace megalith
