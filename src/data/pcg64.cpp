#include "data/pcg64.h"

#include <array>
#include <bit>

namespace megalith {
namespace {

// NumPy's SeedSequence: mixes the seed into a pool of four words and draws the generator's 256 bits from it.
class SeedSequence {
 public:
  explicit SeedSequence(u32 seed) {
    u32 constant = 0x43b0d7e5u;
    const auto hash = [&](u32 value) { return scramble(value, constant, 0x931e8875u); };
    for (int i = 0; i < 4; ++i) pool_[i] = hash(i == 0 ? seed : 0);
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to)
        if (from != to) {
          const u32 mixed = 0xca01f9ddu * pool_[to] - 0x4973f715u * hash(pool_[from]);
          pool_[to] = mixed ^ (mixed >> 16);
        }
  }

  std::array<u64, 4> state() const {
    std::array<u64, 4> words{};
    u32 constant = 0x8b51f9ddu;
    for (int i = 0; i < 8; ++i) words[i / 2] |= u64(scramble(pool_[i % 4], constant, 0x58f38dedu)) << (32 * (i % 2));
    return words;
  }

 private:
  static u32 scramble(u32 value, u32& constant, u32 multiplier) {
    value ^= constant;
    constant *= multiplier;
    value *= constant;
    return value ^ (value >> 16);
  }

  std::array<u32, 4> pool_{};
};

}  // namespace

Pcg64::Pcg64(u32 seed) {
  const std::array<u64, 4> words = SeedSequence(seed).state();
  increment_ = (((u128(words[2]) << 64) | words[3]) << 1) | 1;
  step();
  state_ += (u128(words[0]) << 64) | words[1];
  step();
}

void Pcg64::step() {
  constexpr u128 multiplier = (u128(0x2360ED051FC65DA4ull) << 64) | 0x4385DF649FCCF645ull;
  state_ = state_ * multiplier + increment_;
}

u64 Pcg64::next64() {
  step();
  return std::rotr(u64(state_ >> 64) ^ u64(state_), int(state_ >> 122));
}

u32 Pcg64::next32() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const u64 both = next64();
  spare_ = u32(both >> 32), has_spare_ = true;
  return u32(both);
}

u32 Pcg64::below(u32 bound) {
  const u32 threshold = u32(-bound) % bound;
  for (;;) {
    const u64 product = u64(next32()) * bound;
    if (u32(product) >= threshold) return u32(product >> 32);
  }
}

}  // namespace megalith
