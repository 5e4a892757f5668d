// The element types of an indexed dataset, with their codes in the header.
#pragma once
#include <string_view>

#include "base/dtype.h"

namespace megalith {

enum class TokenType : u8 { uint8 = 1, int8, int16, int32, int64, float64, float32, uint16 };

constexpr bool is_token_type(u8 code) { return code >= 1 && code <= 8; }
constexpr i64 size_of(TokenType t) {
  constexpr i64 sizes[] = {1, 1, 2, 4, 8, 8, 4, 2};
  return sizes[int(t) - 1];
}
constexpr std::string_view name_of(TokenType t) {
  constexpr std::string_view names[] = {"uint8", "int8", "int16", "int32", "int64", "float64", "float32", "uint16"};
  return names[int(t) - 1];
}

// The type that preprocess-data writes: uint16 below 65500 tokens; int32 for more, and for an unknown size (0).
constexpr TokenType token_type_for_vocab(i64 vocab_size) {
  return vocab_size > 0 && vocab_size < 65500 ? TokenType::uint16 : TokenType::int32;
}

// Calls f.template operator()<T>() with the C++ type of the elements.
template <class F>
decltype(auto) dispatch_token_type(TokenType t, F&& f) {
  switch (t) {
    case TokenType::uint8:
      return f.template operator()<u8>();
    case TokenType::int8:
      return f.template operator()<std::int8_t>();
    case TokenType::int16:
      return f.template operator()<std::int16_t>();
    case TokenType::int32:
      return f.template operator()<i32>();
    case TokenType::int64:
      return f.template operator()<i64>();
    case TokenType::float64:
      return f.template operator()<double>();
    case TokenType::float32:
      return f.template operator()<float>();
    case TokenType::uint16:
      break;
  }
  return f.template operator()<u16>();
}

}  // namespace megalith
