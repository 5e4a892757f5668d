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

}  // namespace megalith
