#include "base/plain_number.h"

namespace megalith {

std::string plain_number(std::string_view text) {
  const auto is_digit = [&](size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_sign = i == 0 && text[i] == '+' && text.size() > 1 && text[1] != '-';
    const bool is_gap = text[i] == '_' && i > 0 && is_digit(i - 1) && is_digit(i + 1);
    if (!is_sign && !is_gap) out += text[i];
  }
  return out;
}

}  // namespace megalith
