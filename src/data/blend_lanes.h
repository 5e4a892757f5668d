// Megatron's blending rule, applied at several samples at the same time: each SIMD lane has its own part of a blend.
//
// The rule compares all datasets for each choice. In lanes this is faster than finding the few datasets that matter,
// up to a few hundred datasets.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class BlendLanes {
 public:
  static constexpr int kWidth = __BIGGEST_ALIGNMENT__ / int(sizeof(double));
  // Each comparison depends on the previous one, so several vectors hide its latency.
  static constexpr int kVectors = 4;
  static constexpr int kLanes = kVectors * kWidth;

  explicit BlendLanes(std::span<const double> weights) : weights_(weights), taken_(weights.size()) {}

  // The lane starts at `sample`, after `taken` samples of each dataset.
  void begin(int lane, i64 sample, std::span<const i64> taken);
  void run(i64 choices);  // in each lane; lanes without begin() make meaningless choices
  std::vector<i64> taken(int lane) const;

 private:
  typedef double Doubles __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
  typedef i64 Integers __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
  using Lanes = std::array<Doubles, kVectors>;

  void choose();

  std::span<const double> weights_;
  std::vector<Lanes> taken_;  // samples taken of each dataset
  Lanes sample_{};            // number of choices so far
};

}  // namespace megalith
