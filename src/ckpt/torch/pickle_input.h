// The bytes of a pickle, read sequentially; errors name the offset.
#pragma once
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/dtype.h"

namespace megalith {

class PickleInput {
 public:
  // Both must outlive it; `where` begins messages.
  PickleInput(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  const std::string& where() const { return where_; }
  template <class... A>
  void need(bool ok, fmt::format_string<A...> text, A&&... args) const {
    if (!ok)
      fail("{}: damaged or foreign pickle: at byte {}, {}", where_, at_, fmt::format(text, std::forward<A>(args)...));
  }

  // Each reads from the front; Error if too few bytes are left.
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, raw(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view raw(u64 n) {
    need(n <= bytes_.size() - at_, "it wants {} more bytes and has {}", n, bytes_.size() - at_);
    const std::string_view view(reinterpret_cast<const char*>(bytes_.data()) + at_, std::size_t(n));
    at_ += std::size_t(n);
    return view;
  }
  std::string line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
    const std::size_t end = rest.substr(0, 1000).find('\n');
    need(end != std::string_view::npos, "a name has no end");
    at_ += end + 1;
    return std::string(rest.substr(0, end));
  }
  double big_endian_double() {
    u64 bits = 0;
    for (const char c : raw(8)) bits = bits << 8 | u8(c);
    return std::bit_cast<double>(bits);
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& where_;
  std::size_t at_ = 0;
};

}  // namespace megalith
