// Encodes the few protobuf messages that files of other programs need.
#pragma once
#include <bit>
#include <span>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

template <class U>
std::string little_endian(U value) {
  std::string s(sizeof(U), '\0');
  for (size_t i = 0; i < s.size(); ++i) s[i] = char(value >> (8 * i));
  return s;
}

// Add fields in ascending order of their numbers.
class Message {
 public:
  Message& number(int field, u64 value) { return varint(u64(field) << 3).varint(value); }
  Message& fixed(int field, double value) {
    return varint(u64(field) << 3 | 1).raw(little_endian(std::bit_cast<u64>(value)));
  }
  Message& fixed(int field, float value) {
    return varint(u64(field) << 3 | 5).raw(little_endian(std::bit_cast<u32>(value)));
  }
  Message& bytes(int field, std::string_view value) {
    return varint(u64(field) << 3 | 2).varint(value.size()).raw(value);
  }
  Message& nonzero(int field, double value) { return std::bit_cast<u64>(value) ? fixed(field, value) : *this; }
  Message& packed(int field, std::span<const double> values) {
    std::string all;
    for (double v : values) all += little_endian(std::bit_cast<u64>(v));
    return values.empty() ? *this : bytes(field, all);
  }
  operator std::string_view() const { return bytes_; }  // NOLINT: a finished message is the content of a field
  std::string take() { return std::move(bytes_); }

 private:
  Message& raw(std::string_view b) {
    bytes_ += b;
    return *this;
  }
  Message& varint(u64 v) {
    for (; v >= 0x80; v >>= 7) bytes_ += char(v | 0x80);
    bytes_ += char(v);
    return *this;
  }
  std::string bytes_;
};

}  // namespace megalith
