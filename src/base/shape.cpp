#include "base/shape.h"

#include <fmt/format.h>

namespace megalith {

std::string to_string(const Shape& s) { return fmt::format("[{}]", fmt::join(s, ", ")); }

}  // namespace megalith
