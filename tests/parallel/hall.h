// Where the test's modes run: on all ranks, of which the first speaks.
#pragma once
#include <fmt/core.h>

#include <cstdint>
#include <cstdio>

#include "comm/ranks.h"
#include "tests/parallel/flags.h"
#include "tests/parallel/jobs.h"

namespace megalith::parity {

constexpr double kTolerance = 1e-5;  // of losses and norms, relative

struct Hall {
  Ranks& ranks;
  std::string folder;
  size_t most_rows = SIZE_MAX;  // of a matrix: its first rows have the most pairs of values
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
