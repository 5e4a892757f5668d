// Numbers of a log.
#pragma once
#include <string>
#include <string_view>

namespace megalith {

// In this format of fmt. In each format "nan", "inf" or "-inf" if it is not finite.
std::string number_text(double x, std::string_view format = "{:.6E}");

}  // namespace megalith
