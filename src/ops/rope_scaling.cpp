#include "ops/rope_scaling.h"

#include <fmt/ranges.h>

namespace megalith {

using Kind = RopeScaling::Kind;

std::string_view name_of(Kind kind) {
  constexpr std::string_view names[] = {"unset", "none", "llama3", "yarn", "dynamic", "longrope"};
  return names[int(kind)];
}

double RopeScaling::amplitude() const {
  if (kind != Kind::yarn && kind != Kind::longrope) return 1;
  if (attention_factor) return *attention_factor;
  if (kind == Kind::yarn) return yarn_mscale(factor, mscale) / yarn_mscale(factor, mscale_all_dim);
  return factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(double(original_length)));
}

double RopeScaling::score_factor() const {
  if (kind != Kind::yarn) return 1;
  const double m = yarn_mscale(factor, mscale_all_dim);
  return m * m;
}

std::string RopeScaling::text() const {
  std::string out(name_of(kind));
  if (kind == Kind::unset || kind == Kind::none) return out;
  out += fmt::format(" factor {} length {}", factor, original_length);
  if (kind == Kind::llama3) out += fmt::format(" from {} to {}", low_freq_factor, high_freq_factor);
  if (kind == Kind::yarn) out += fmt::format(" turns {} to {}{}", beta_fast, beta_slow, whole_ends ? "" : " unrounded");
  if (kind == Kind::yarn || kind == Kind::longrope) out += fmt::format(" amplitude {}", amplitude());
  if (kind == Kind::yarn) out += fmt::format(" scores {}", score_factor());
  if (kind == Kind::longrope)
    out += fmt::format(" short {} long {}", fmt::join(short_factors, " "), fmt::join(long_factors, " "));
  return out;
}

}  // namespace megalith
