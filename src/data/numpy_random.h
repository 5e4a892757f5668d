// The legacy random numbers of NumPy (numpy.random.RandomState), bit for bit: Megatron's order of documents and samples
// hangs on them. The generator is MT19937 seeded with an integer, which is std::mt19937.
#pragma once
#include <random>
#include <span>
#include <utility>

#include "base/dtype.h"

namespace megalith {

class RandomState {
 public:
  explicit RandomState(u32 seed) : engine_(seed) {}

  u32 next32() { return u32(engine_()); }
  u64 next64();          // the first output is the upper half
  double next_double();  // [0, 1) with 53 bits

  // A uniform integer in [0, max]; nothing is drawn for max = 0.
  u64 interval(u64 max);

  // numpy.random.RandomState.shuffle, in place.
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[interval(i)]);
  }

 private:
  std::mt19937 engine_;
};

}  // namespace megalith
