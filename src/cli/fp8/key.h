// Settings in a tensor's name: words separated by underscores, as in e4m3_max_h4_margin1.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "quant/fp8_format.h"

namespace megalith::fp8 {

// Removes `word` and the following underscore from the front. False if it is not there.
bool take(std::string_view& key, std::string_view word);
std::optional<quant::Fp8> take_format(std::string_view& key);
// Removes NAME and a number: 4 for "h4_margin1". Empty if it is not in 0..1,000,000.
std::optional<i64> take_count(std::string_view& key, std::string_view name);
std::optional<float> take_number(std::string_view& key, std::string_view name);

}  // namespace megalith::fp8
