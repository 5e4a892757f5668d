// Random failures: storm:mtbf=5s:seed=7[:kinds=kill+stop]. In each start of the run one random rank gets one random
// signal, after a random time. The times are exponential, so failures come at a constant rate while the run works.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct StormSettings {
  double mean_seconds = 0;  // between failures
  u64 seed = 1;
  std::vector<int> signals;
};

struct StormStrike {
  double seconds = 0;  // after the start
  int rank = 0, signal = 0;
};

bool is_storm(std::string_view word);
// Error if it is misspelt, or there are several. None if there is none.
std::optional<StormSettings> find_storm(const std::vector<std::string>& texts);
// The same on all ranks. start: its number, from 1.
StormStrike strike_of(const StormSettings& storm, i64 start, int ranks);

// Strikes this process if it is this rank's turn in this start. Ends without effect if it is destroyed before.
class Storm {
 public:
  Storm(const std::vector<std::string>& texts, int rank, int ranks, i64 start);

 private:
  std::jthread thread_;
};

}  // namespace megalith
