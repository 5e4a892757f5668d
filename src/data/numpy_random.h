// NumPy's legacy random numbers (numpy.random.RandomState), bit for bit: Megatron's order of documents and samples
// depends on them. The generator is MT19937 seeded with an integer.
#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/dtype.h"
#include "data/mersenne_twister.h"

namespace megalith {

class RandomState {
 public:
  explicit RandomState(u32 seed) : engine_(seed) {}

  u32 next32() { return engine_(); }
  u64 next64();          // the first output is the high half
  double next_double();  // [0, 1) with 53 bits

  // A uniform integer in [0, max]. max = 0 draws nothing.
  u64 interval(u64 max);

  // A random index with these probabilities, which sum to 1: RandomState.choice(n, p=weights).
  i64 choice(std::span<const double> weights);

  // True with probability p in [0, 1]: RandomState.binomial(1, p), one double.
  bool binomial(double p);

  // Number of trials until the first success, p < 1/3: RandomState.geometric(p).
  i64 geometric(double p);

  // numpy.random.RandomState.shuffle, in place. It prefetches the elements of the next draws while it swaps those of
  // earlier ones, because their addresses are random.
  template <class T>
  void shuffle(std::span<T> values) {
    constexpr u64 kWide = u64{1} << 32;
    u64 i = std::max<u64>(values.size(), 1) - 1;
    for (; i >= kWide; --i) std::swap(values[i], values[interval(i)]);
    std::array<std::array<u32, 256>, 2> draws;
    const auto draw = [&](std::size_t buffer, u64 from) {
      const std::span<u32> some = std::span(draws[buffer]).first(std::min(draws[buffer].size(), from));
      draw_down(u32(from), some);
      for (const u32 other : some) __builtin_prefetch(&values[other], 1);
      return some;
    };
    std::size_t buffer = 0;
    for (std::span<u32> some = draw(buffer, i), next; !some.empty(); some = next) {
      next = draw(buffer ^= 1, i - some.size());
      for (const u32 other : some) std::swap(values[i--], values[other]);
    }
  }

 private:
  // out[k] = interval(from - k); out has at most `from` elements.
  void draw_down(u32 from, std::span<u32> out);

  MersenneTwister engine_;
};

}  // namespace megalith
