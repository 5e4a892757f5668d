// The checkpoints of a run: their number, their bytes, and the price to keep them.
#pragma once
#include <string>

#include "search/report.h"

namespace megalith::search {

struct Saves {
  double each = 0;   // bytes
  double taken = 0;  // number in the run
  double kept = 0;   // number at its end
  double usd = 0;    // price to keep them during the run; 0: unknown price
  double bytes() const { return each * kept; }
};
Saves saves_of(const Options& base, const Row& row, const Asked& asked);

// How the run's time is divided if GPUs fail, and its saves, as lines.
std::string goodput_text(const Options& base, const Row& row, const Asked& asked);

}  // namespace megalith::search
