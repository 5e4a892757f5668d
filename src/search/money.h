// What a run of so many tokens takes: days, money and energy, and how much of the time is useful where GPUs fail.
//
// Saves are spaced by Daly's formula (resume/save_spacing.h), with his expected time of a run.
#pragma once
#include "base/dtype.h"

namespace megalith::search {

struct Prices {
  double gpu_hour = 0;              // USD; 0: not known
  double watts = 0;                 // of a GPU; 0: not known
  double storage_tb_month = 0;      // USD of 1e12 bytes for a month; 0: not known
  double gpu_mtbf_hours = 50700;    // of one GPU: Llama 3, 419 failures of 16,384 GPUs in 54 days
  double save_stall_seconds = 0.5;  // that a save holds the training up
  double restart_seconds = 60, detect_seconds = 3;
};

struct Goodput {
  double failure_hours = 0;  // between two failures of any GPU
  double save_seconds = 0;   // between two saves
  i64 save_steps = 1;        // the same in steps
  double useful = 1;         // share of the time
};
Goodput goodput(const Prices& prices, i64 gpus, double step_seconds);

struct RunCost {
  double days = 0;
  double usd = 0;  // 0: no price
  double mwh = 0;  // 0: no power
};
// `useful`: share of the time.
RunCost cost_of(const Prices& prices, i64 gpus, double tokens, double tokens_per_second, double useful);

}  // namespace megalith::search
