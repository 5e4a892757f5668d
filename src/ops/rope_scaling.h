// How rotary embedding is changed for sequences longer than those of the first training, and by how much. Members that
// are 0 or unset are derived by ModelConfig::resolve().
#pragma once
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct RopeScaling {
  // llama3: long wavelengths are divided by `factor`, short ones are kept, a ramp is between (Llama 3.1).
  // yarn: the same by numbers of turns, and cosines and sines are scaled (Peng 2023).
  // dynamic: the base grows with a sequence longer than the original one (NTK).
  // longrope: each frequency has its own divisor, one for short and one for long sequences (Ding 2024).
  enum class Kind { unset, none, llama3, yarn, dynamic, longrope };
  Kind kind = Kind::unset;
  double factor = 0;        // how much longer; 0: 8, with yarn and dynamic 1, with longrope by the lengths
  i64 original_length = 0;  // 0: 8192, with yarn 4096, with dynamic and longrope max_position_embeddings
  double low_freq_factor = 1, high_freq_factor = 4;           // llama3
  double beta_fast = 32, beta_slow = 1;                       // yarn: turns in the original length where the ramp ends
  bool whole_ends = true;                                     // yarn: the ramp's ends are rounded to whole frequencies
  double mscale = 1, mscale_all_dim = 0;                      // yarn: see amplitude() and score_factor()
  std::optional<double> attention_factor = {};                // yarn, longrope: the amplitude; unset: by formula
  std::vector<double> short_factors = {}, long_factors = {};  // longrope: one for each pair that turns

  // The factor of cosines and sines.
  double amplitude() const;
  // The factor of the scores of multi-head latent attention (DeepSeek-V2).
  double score_factor() const;
  // The kind and the numbers that count for it, for printing and comparing.
  std::string text() const;
  bool operator==(const RopeScaling&) const = default;
};

// Yarn's growth of attention with the length: 1 if `factor` is at most 1.
inline double yarn_mscale(double factor, double m) { return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1; }

std::string_view name_of(RopeScaling::Kind kind);

}  // namespace megalith
