// How rotary embedding changes for sequences longer than those of the original training. ModelConfig::resolve() derives
// members that are 0 or unset.
#pragma once
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct RopeScaling {
  // llama3: long wavelengths are divided by `factor`, short ones are kept, with a ramp in between (Llama 3.1). yarn:
  // the same by numbers of rotations; cosines and sines are scaled too (Peng 2023). dynamic: the base grows if a
  // sequence is longer than original_length (NTK). longrope: each frequency has its own divisor, one for short and one
  // for long sequences (Ding 2024).
  enum class Kind { unset, none, llama3, yarn, dynamic, longrope };
  Kind kind = Kind::unset;
  double factor = 0;        // new length / original length; 0: 8; yarn and dynamic: 1; longrope: from the lengths
  i64 original_length = 0;  // 0: 8192; yarn: 4096; dynamic and longrope: max_position_embeddings
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;              // yarn: rotations in the original length at which the ramp ends
  bool whole_ends = true;                            // yarn: ends of the ramp are rounded to whole frequencies
  double mscale = 1, mscale_all_dim = 0;             // yarn: see amplitude() and score_factor()
  std::optional<double> attention_factor = {};       // yarn, longrope: the amplitude; unset: by formula
  std::vector<double> short_factors = {}, long_factors = {};  // longrope: one for each rotated pair

  // The factor of cosines and sines.
  double amplitude() const;
  // The factor of scores in multi-head latent attention (DeepSeek-V2).
  double score_factor() const;
  // The kind and the numbers that matter for it, for printing and comparing.
  std::string text() const;
  bool operator==(const RopeScaling&) const = default;
};

// Yarn's growth of attention with the length: 1 if `factor` <= 1.
inline double yarn_mscale(double factor, double m) { return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1; }

std::string_view name_of(RopeScaling::Kind kind);

}  // namespace megalith
