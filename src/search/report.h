// The result of a search, as text, JSON and CSV.
#pragma once
#include <string>
#include <vector>

#include "search/money.h"
#include "search/search.h"
#include "search/sites.h"

namespace megalith::search {

struct Asked {
  i64 gpus = 1;
  double headroom = 0;
  double tokens = 0;  // of the run; 0: not given
  Prices prices{};
  double max_days = 0, max_cost = 0;  // of the whole run; 0: no limit
  Objective objective = Objective::tokens_per_second;
  Sites sites{};
  double seconds = 0;  // of the search itself
  double run_tokens() const { return tokens > 0 ? tokens : 1e12; }
};

// A found layout in numbers.
struct Row {
  Choice choice;
  std::string hardware{};
  i64 gpus = 1, dp = 1, bytes = 0;
  int stage = 0;
  double step_seconds = 0, tokens_per_second = 0, tflops = 0;  // flops of one GPU
  double mfu = 0;                                              // 0: the peak is unknown
  double bubble = 0, exposed = 0;                              // as fractions of the work, of the step
  StepTime inside{};                                           // the step without transfers between sites
  SiteTime site{};
  Goodput goodput{};
  RunCost cost{};
  double gpu_tokens() const { return tokens_per_second / double(gpus); }
};
Row row_of(const Options& base, const Found& found, const DeviceFacts& facts, const Asked& asked);

// Whether the run stays within the allowed days and money.
bool is_allowed(const RunCost& cost, const Asked& asked);
// The longest step within those limits, plus a hundredth: the useful fraction of the time depends on the step.
double most_step_seconds(const Options& base, const Asked& asked);
// The value by which the objective compares numbers of GPUs: less is better.
double objective_value(const Row& row, Objective objective);

// The peak of a GPU in the run's precision, flop/s. 0: unknown.
double peak_of(const Options& o, const DeviceFacts& facts);
// Bytes of a checkpoint: the weights in the optimizer's precision, and the optimizer state.
double save_bytes(const Options& base);

std::string head_text(const Options& base, const DeviceFacts& facts, const Asked& asked, const Outcome& found);
std::string table_text(const std::vector<Row>& rows, const DeviceFacts& facts, const Asked& asked);
std::string refused_text(const Options& base, const Outcome& found, const DeviceFacts& facts, const Asked& asked);
std::string run_text(const Options& base, const Row& row, const Asked& asked);

// The transfers between the sites in each mode, for this layout.
std::string sites_text(const Options& base, const Row& row, const Asked& asked);

// The full report of one layout: memory by category and stage, time by op, the pipeline's schedule.
std::string explained(const Options& base, const Choice& c, const std::string& layout, const DeviceFacts& facts,
                      const Asked& asked);
// Days and money at an assumed throughput, and its fraction of the GPU's peak. Error above the peak, unless forced.
struct Assumed {
  double gpu_tokens = 0;  // a second, of one GPU
  bool force = false;
};
std::string assumed_text(const Options& base, const DeviceFacts& facts, const Asked& asked, const Assumed& assumed);

// The best layout for each number and kind of GPUs, and its speed relative to the first kind.
std::string kinds_text(const std::vector<Row>& rows, const Asked& asked);
// The best layout for each number of GPUs.
std::string counts_text(const std::vector<Row>& rows, const Asked& asked);

std::string rows_json(const Options& base, const DeviceFacts& facts, const Asked& asked, const std::vector<Row>& rows,
                      const Outcome& found, const std::vector<std::string>& commands);
std::string rows_csv(const std::vector<Row>& rows);

}  // namespace megalith::search
