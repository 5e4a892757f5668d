#include "base/shape.h"

#include <fmt/format.h>

#include "base/check.h"

namespace megalith {

std::string to_string(const Shape& s) { return fmt::format("[{}]", fmt::join(s, ", ")); }

void check_dims(std::size_t dims, const std::string& what) {
  check(dims <= kMaxDims, "{}: a shape has {} dimensions, at most {} are read", what, dims, kMaxDims);
}

}  // namespace megalith
