// SHA-256 (FIPS 180-4), for comparison with digests of other programs.
#pragma once
#include <array>
#include <bit>
#include <span>
#include <string>

#include "base/check.h"
#include "base/dtype.h"

namespace megalith {

inline std::string sha256(std::span<const std::byte> bytes) {
  // Fractional parts of the cube roots of the first 64 primes, and of the square roots of the first 8.
  static const auto constants = [] {
    std::pair<std::array<u32, 64>, std::array<u32, 8>> c;
    const auto fraction = [](u64 p, int root) {  // floor(frac(p^(1/root)) * 2^32), by bisection on 128-bit integers
      using Wide = unsigned __int128;
      u64 low = 0, high = u64{1} << 38;
      while (high - low > 1) {
        const u64 middle = (low + high) / 2;
        // middle^root <= p * 2^(32 root); for cubes both sides are cut by 2^32 after squaring, exactly enough bits
        const Wide square = Wide(middle) * middle;
        const bool below = root == 2 ? square <= Wide(p) << 64 : square <= ((Wide(p) << 96) / middle);
        (below ? low : high) = middle;
      }
      return u32(low);
    };
    int n = 0;
    for (u64 p = 2; n < 64; ++p) {
      bool prime = true;
      for (u64 d = 2; d * d <= p; ++d) prime = prime && p % d != 0;
      if (!prime) continue;
      c.first[std::size_t(n)] = fraction(p, 3);
      if (n < 8) c.second[std::size_t(n)] = fraction(p, 2);
      ++n;
    }
    return c;
  }();
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text += '\x80';
  while (text.size() % 64 != 56) text += '\0';
  for (int i = 7; i >= 0; --i) text += char(u64(bytes.size()) * 8 >> (8 * i));
  std::array<u32, 8> h = constants.second;
  for (std::size_t at = 0; at < text.size(); at += 64) {
    std::array<u32, 64> w{};
    for (std::size_t i = 0; i < 64; ++i) {
      if (i < 16) {
        for (std::size_t b = 0; b < 4; ++b) w[i] = w[i] << 8 | u8(text[at + 4 * i + b]);
        continue;
      }
      const u32 a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
    }
    std::array<u32, 8> s = h;
    for (std::size_t i = 0; i < 64; ++i) {
      const u32 one = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                      ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants.first[i] + w[i];
      const u32 two = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
    }
    for (std::size_t i = 0; i < 8; ++i) h[i] += s[i];
  }
  std::string hex;
  for (const u32 x : h) hex += fmt::format("{:08x}", x);
  return hex;
}

}  // namespace megalith
