// Settings in a tensor's name: the words between underscores, as in e4m3_max_h4_margin1.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "quant/fp8_format.h"

namespace megalith::fp8 {

// Takes `word` and the underscore behind it off the front; false if it is not there.
bool take(std::string_view& key, std::string_view word);
std::optional<quant::Fp8> take_format(std::string_view& key);
// Takes NAME and a number: 4 of "h4_margin1". None unless it is from 0 to 1,000,000.
std::optional<i64> take_count(std::string_view& key, std::string_view name);
std::optional<float> take_number(std::string_view& key, std::string_view name);

}  // namespace megalith::fp8
