#include "base/number_text.h"

#include <fmt/format.h>

#include <cmath>

namespace megalith {

std::string number_text(double x, std::string_view format) {
  if (std::isnan(x)) return "nan";  // its sign says nothing
  return std::isinf(x) ? fmt::format("{}", x) : fmt::format(fmt::runtime(format), x);
}

}  // namespace megalith
