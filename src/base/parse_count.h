// Whole numbers from 0 in names and texts.
#pragma once
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

// None unless all of the text is one, of at most 63 bits.
std::optional<i64> parse_count(std::string_view text);

}  // namespace megalith
