// Whole numbers from 0 in names, texts and files.
#pragma once
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

// None unless all of the text is one, of at most 63 bits.
std::optional<i64> parse_count(std::string_view text);

// The most of iterations, samples and the like that a file may tell of: as far as numbers of 64 bits are exact.
inline constexpr i64 kMostCount = i64{1} << 53;

}  // namespace megalith
