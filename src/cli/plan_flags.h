// The flags of `megalith plan`: those of pretrain-gpt, and its own.
#pragma once
#include "facts/device_facts.h"
#include "search/report.h"

namespace megalith {

struct PlanFlags {
  std::string gpus;                   // "256", or "64:1024"
  std::string hardware = "h100-sxm";  // or several, with commas between them
  i64 top = 5;
  double memory_headroom = 0.05;
  double tokens = 0;
  double max_days = 0, max_cost = 0;
  search::Objective objective = search::Objective::tokens_per_second;
  double assume_tokens_per_second = 0;              // of a GPU; 0: predicted
  bool force = false;                               // accepts an assumption above the peak
  std::vector<double> gpu_hour_prices;              // USD; one for all kinds of hardware, or one of each
  search::Prices prices{};                          // prices of the first kind
  std::string sites, site_bandwidth, site_latency;  // as given
  search::Sites between{};                          // the same, parsed
  std::string explain, json, csv, html, check;
  Options options;
};
void list_fields(PlanFlags& c, config::FieldList& f);

// Throws Mistakes with all mistakes in the flags. The options are the user's, for a dry run on the hardware, without
// derived values. False: --help was given, and is printed.
bool read_plan_flags(PlanFlags& flags, int argc, const char* const* argv);

// The names in --hardware.
std::vector<std::string> kinds_of(const PlanFlags& flags);
// Price of one GPU of this kind, in USD per hour. 0: unknown.
double price_of(const PlanFlags& flags, size_t kind);

// The requested numbers of GPUs: one, or the powers of two of a range or of the default range.
std::vector<i64> gpu_counts(const PlanFlags& flags);

}  // namespace megalith
