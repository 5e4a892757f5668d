#include "data/mersenne_twister.h"

namespace megalith {
namespace {

u32 twisted(u32 high, u32 low) {
  const u32 y = (high & 0x80000000u) | (low & 0x7fffffffu);
  return (y >> 1) ^ ((0u - (low & 1u)) & 0x9908b0dfu);
}

u32 tempered(u32 y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

}  // namespace

MersenneTwister::MersenneTwister(u32 seed) {
  state_[0] = seed;
  for (u32 k = 1; k < kSize; ++k) state_[k] = 1812433253u * (state_[k - 1] ^ (state_[k - 1] >> 30)) + k;
}

// No loop reads a value that it wrote less than a vector length earlier, so the compiler can vectorize it.
void MersenneTwister::refill() {
  constexpr std::size_t kShift = 397, kBack = kSize - kShift;
  u32* s = state_.data();
  for (std::size_t k = 0; k < kBack; ++k) s[k] = s[k + kShift] ^ twisted(s[k], s[k + 1]);
  for (std::size_t k = kBack; k + 1 < kSize; ++k) s[k] = s[k - kBack] ^ twisted(s[k], s[k + 1]);
  s[kSize - 1] = s[kShift - 1] ^ twisted(s[kSize - 1], s[0]);
  for (std::size_t k = 0; k < kSize; ++k) outputs_[k] = tempered(s[k]);
  taken_ = 0;
}

}  // namespace megalith
