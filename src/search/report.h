// What the search found, as text, JSON and CSV.
#pragma once
#include <string>
#include <vector>

#include "search/money.h"
#include "search/search.h"

namespace megalith::search {

struct Asked {
  i64 gpus = 1;
  double headroom = 0;
  double tokens = 0;  // of the run; 0: not told
  Prices prices{};
  double max_days = 0, max_cost = 0;  // of the whole run; 0: no limit
  Objective objective = Objective::tokens_per_second;
  double seconds = 0;  // that the search took
  double run_tokens() const { return tokens > 0 ? tokens : 1e12; }
};

// A found layout in numbers.
struct Row {
  Choice choice;
  i64 gpus = 1, dp = 1, bytes = 0;
  int stage = 0;
  double step_seconds = 0, tokens_per_second = 0, tflops = 0;  // flops of one GPU
  double mfu = 0;                                              // 0: the peak is not known
  double bubble = 0, exposed = 0;                              // shares: of the work, of the step
  Goodput goodput{};
  RunCost cost{};
  double gpu_tokens() const { return tokens_per_second / double(gpus); }
};
Row row_of(const Options& base, const Found& found, const DeviceFacts& facts, const Asked& asked);

// Whether the run is through in the days and for the money that are allowed.
bool is_allowed(const RunCost& cost, const Asked& asked);
// The most that a step may take for that, or a hundredth more: how much of the time is useful depends on it.
double most_step_seconds(const Options& base, const Asked& asked);
// What the objective compares numbers of GPUs by: less is better.
double objective_value(const Row& row, Objective objective);

// The peak of a GPU in what the run multiplies, flop/s; 0: not known.
double peak_of(const Options& o, const DeviceFacts& facts);
// Of what a checkpoint holds: weights in the optimizer's precision and its states.
double save_bytes(const Options& base);

std::string head_text(const Options& base, const DeviceFacts& facts, const Asked& asked, const Outcome& found);
std::string table_text(const std::vector<Row>& rows, const DeviceFacts& facts, const Asked& asked);
std::string refused_text(const Options& base, const Outcome& found, const DeviceFacts& facts, const Asked& asked);
std::string run_text(const Options& base, const Row& row, const Asked& asked);

// A layout in full: memory by category and stage, where the time goes, the pipeline in time.
std::string explained(const Options& base, const Choice& c, const std::string& layout, const DeviceFacts& facts,
                      const Asked& asked);
// Days and money of a throughput that the user assumes, and which share of the GPU's peak it is. Error above the peak,
// unless forced.
struct Assumed {
  double gpu_tokens = 0;  // a second, of one GPU
  bool force = false;
};
std::string assumed_text(const Options& base, const DeviceFacts& facts, const Asked& asked, const Assumed& assumed);

// Of several numbers of GPUs the best layout of each.
std::string counts_text(const std::vector<Row>& rows, const Asked& asked);

std::string rows_json(const Options& base, const DeviceFacts& facts, const Asked& asked, const std::vector<Row>& rows,
                      const Outcome& found, const std::vector<std::string>& commands);
std::string rows_csv(const std::vector<Row>& rows);

}  // namespace megalith::search
