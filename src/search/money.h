// Days, money and energy of a run with a number of tokens. Also the useful fraction of its time if GPUs fail. Daly's
// formula gives the spacing of saves (resume/save_spacing.h) and the expected time of a run.
#pragma once
#include "base/dtype.h"

namespace megalith::search {

struct Prices {
  double gpu_hour = 0;              // USD; 0: unknown
  double watts = 0;                 // of a GPU; 0: unknown
  double storage_tb_month = 0;      // USD for 1e12 bytes and a month; 0: unknown
  double gpu_mtbf_hours = 50700;    // of one GPU: Llama 3 had 419 failures of 16,384 GPUs in 54 days
  double save_stall_seconds = 0.5;  // how long a save stops the training
  double restart_seconds = 60, detect_seconds = 3;
};

struct Goodput {
  double failure_hours = 0;  // between two failures of any GPU
  double save_seconds = 0;   // between two saves
  i64 save_steps = 1;        // the same in steps
  double useful = 1;         // fraction of the time
};
Goodput goodput(const Prices& prices, i64 gpus, double step_seconds);

struct RunCost {
  double days = 0;
  double usd = 0;  // 0: unknown price
  double mwh = 0;  // 0: unknown power
};
// `useful`: fraction of the time.
RunCost cost_of(const Prices& prices, i64 gpus, double tokens, double tokens_per_second, double useful);

}  // namespace megalith::search
