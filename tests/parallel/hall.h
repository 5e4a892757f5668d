// The environment of a test mode: the ranks, a folder, and output from rank 0.
#pragma once
#include <fmt/core.h>

#include <cstdint>
#include <cstdio>

#include "comm/ranks.h"
#include "tests/parallel/flags.h"
#include "tests/parallel/jobs.h"

namespace megalith::parity {

constexpr double kTolerance = 1e-5;  // relative difference of losses and norms

struct Hall {
  Ranks& ranks;
  std::string folder;
  size_t most_rows = SIZE_MAX;  // of the matrix; the first rows have the most pairs of values
  bool is_short() const { return most_rows != SIZE_MAX; }
  template <class... A>
  void say(fmt::format_string<A...> text, A&&... args) const {
    if (ranks.rank() != 0) return;
    fmt::print(text, std::forward<A>(args)...);
    fmt::print("\n");
    std::fflush(stdout);
  }
};

inline bool same_bits(const Outcome& a, const Outcome& b) {
  return a.state == b.state && a.losses == b.losses && a.terms == b.terms && a.norms == b.norms &&
         a.validation == b.validation && a.losses.size() == kIterations;
}

}  // namespace megalith::parity
