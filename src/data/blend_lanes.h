// Megatron's rule of blends, followed from many samples at once: one stretch of a blend in each lane of a few vectors.
//
// All datasets are compared for every choice, as the rule is defined, but for all lanes together: less work than
// finding the few datasets that matter, up to a few hundred of them.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class BlendLanes {
 public:
  static constexpr int kWidth = __BIGGEST_ALIGNMENT__ / int(sizeof(double));
  static constexpr int kVectors = 4;  // a comparison waits for the one before it: others fill the time
  static constexpr int kLanes = kVectors * kWidth;

  explicit BlendLanes(std::span<const double> weights) : weights_(weights), taken_(weights.size()) {}

  // The lane continues after `sample` choices, which took `taken` samples of each dataset.
  void begin(int lane, i64 sample, std::span<const i64> taken);
  void run(i64 choices);  // in each lane; those that were not begun make choices of no meaning
  std::vector<i64> taken(int lane) const;

 private:
  typedef double Doubles __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
  typedef i64 Integers __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
  using Lanes = std::array<Doubles, kVectors>;

  void choose();

  std::span<const double> weights_;
  std::vector<Lanes> taken_;  // of each dataset
  Lanes sample_{};            // choices made so far
};

}  // namespace megalith
