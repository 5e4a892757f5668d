// A whole number as people read it.
#pragma once
#include <string>

#include "base/dtype.h"

namespace megalith {

// 1234567: "1,234,567".
inline std::string grouped(i64 n) {
  std::string digits = std::to_string(n);
  for (i64 at = i64(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3) digits.insert(std::size_t(at), ",");
  return digits;
}

}  // namespace megalith
