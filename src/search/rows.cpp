// A layout in numbers.
#include <algorithm>

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

Row row_of(const Options& base, const Found& found, const DeviceFacts& facts, const Asked& asked) {
  Options sized = base;
  sized.parallel.world_size = asked.gpus;
  const Options o = with(sized, found.choice);
  const Price& p = found.price;
  Row r{.choice = found.choice, .gpus = asked.gpus, .dp = o.parallel.data_parallel_size()};
  r.bytes = p.fullest.need.total(), r.stage = p.fullest.stage;
  r.step_seconds = p.time.seconds, r.bubble = p.time.bubble, r.exposed = p.time.exposed / p.time.seconds;
  const double batch = double(BatchSizes(o).largest());
  r.tokens_per_second = batch * double(o.model.seq_length) / r.step_seconds;
  const double flops = size_of(Gpt(o.model)).flops() * batch / r.step_seconds / double(asked.gpus);
  r.tflops = flops / 1e12;
  if (const double peak = peak_of(o, facts); peak > 0) r.mfu = flops / peak;
  r.goodput = goodput(asked.prices, asked.gpus, r.step_seconds);
  const double tokens = asked.tokens > 0 ? asked.tokens : 1e12;
  r.cost = cost_of(asked.prices, asked.gpus, tokens, r.tokens_per_second, r.goodput.useful);
  return r;
}

}  // namespace megalith::search
