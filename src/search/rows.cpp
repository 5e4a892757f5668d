// A layout in numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "models/gpt/gpt.h"
#include "optim/optimizer.h"
#include "search/report.h"
#include "settings/batch_sizes.h"
#include "settings/precision.h"
#include "settings/schedules.h"
#include "step/model_size.h"

namespace megalith::search {

double peak_of(const Options& o, const DeviceFacts& facts) {
  const auto peak = facts.peak_tflops.find(std::string(name_of(precision_of(o).products)));
  return peak == facts.peak_tflops.end() ? 0 : peak->second * 1e12;
}

double save_bytes(const Options& base) {
  const Options o = with(base, {.micro_batch = std::max<i64>(1, base.train.micro_batch_size)});
  const Precision r = precision_of(o);
  double each = double(size_of(r.main_parameters));
  if (!o.train.no_save_optim)
    for (const OptimizerState& s : o.optimizer.chosen().states(r)) each += double(size_of(s.dtype));
  return size_of(Gpt(o.model)).parameters() * each;
}

bool is_allowed(const RunCost& cost, const Asked& asked) {
  return (asked.max_days == 0 || cost.days <= asked.max_days) && (asked.max_cost == 0 || cost.usd <= asked.max_cost);
}

double most_step_seconds(const Options& base, const Asked& asked) {
  double days = std::numeric_limits<double>::infinity();
  if (asked.max_days > 0) days = asked.max_days;
  if (asked.max_cost > 0) days = std::min(days, asked.max_cost / asked.prices.gpu_hour / double(asked.gpus) / 24);
  if (std::isinf(days)) return days;
  const Options o = with(base, {.micro_batch = std::max<i64>(1, base.train.micro_batch_size)});
  const double steps = asked.run_tokens() / double(BatchSizes(o).largest() * o.model.seq_length);
  double seconds = days * 86400 / steps;
  for (int i = 0; i < 8; ++i) seconds = days * 86400 / steps * goodput(asked.prices, asked.gpus, seconds).useful;
  return 1.01 * seconds;
}

double objective_value(const Row& row, Objective objective) {
  switch (objective) {
    case Objective::cost:
      return row.cost.usd;
    case Objective::memory:
      return double(row.bytes);
    case Objective::energy:
      return row.cost.mwh;
    case Objective::tokens_per_second:
      return -row.tokens_per_second;
    case Objective::days:
      break;
  }
  return row.cost.days;
}

Row row_of(const Options& base, const Found& found, const DeviceFacts& facts, const Asked& asked) {
  Options sized = base;
  sized.parallel.world_size = asked.gpus;
  const Options o = with(sized, found.choice);
  const Price& p = found.price;
  Row r{.choice = found.choice, .hardware = facts.name, .gpus = asked.gpus, .dp = o.parallel.data_parallel_size()};
  r.bytes = p.fullest.need.total(), r.stage = p.fullest.stage;
  r.inside = p.time;
  if (asked.sites.any()) r.site = chosen_site_time(o, p.time, asked.sites);
  r.step_seconds = p.time.seconds + r.site.exposed, r.bubble = p.time.bubble;
  r.exposed = (p.time.exposed + r.site.exposed) / r.step_seconds;
  const double batch = double(BatchSizes(o).largest());
  r.tokens_per_second = batch * double(o.model.seq_length) / r.step_seconds;
  const double flops = size_of(Gpt(o.model)).flops() * batch / r.step_seconds / double(asked.gpus);
  r.tflops = flops / 1e12;
  if (const double peak = peak_of(o, facts); peak > 0) r.mfu = flops / peak;
  r.goodput = goodput(asked.prices, asked.gpus, r.step_seconds);
  r.cost = cost_of(asked.prices, asked.gpus, asked.run_tokens(), r.tokens_per_second, r.goodput.useful);
  return r;
}

}  // namespace megalith::search
