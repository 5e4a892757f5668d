// The checkpoints of a run: how many, their bytes, what keeping them costs.
#pragma once
#include <string>

#include "search/report.h"

namespace megalith::search {

struct Saves {
  double each = 0;   // bytes
  double taken = 0;  // in the run
  double kept = 0;   // at its end
  double usd = 0;    // of keeping them while it runs; 0: no price
  double bytes() const { return each * kept; }
};
Saves saves_of(const Options& base, const Row& row, const Asked& asked);

// How the run's time goes where GPUs fail, and its saves, as lines.
std::string goodput_text(const Options& base, const Row& row, const Asked& asked);

}  // namespace megalith::search
