// The cost and duration of a run at a throughput that the user assumes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/grouped.h"
#include "models/gpt/gpt.h"
#include "search/report.h"
#include "step/model_size.h"

namespace megalith::search {

std::string assumed_text(const Options& base, const DeviceFacts& facts, const Asked& asked, const Assumed& assumed) {
  const Options o = with(base, {.micro_batch = std::max<i64>(1, base.train.micro_batch_size)});
  const double a_token = size_of(Gpt(o.model)).flops() / double(o.model.seq_length);
  const double flops = a_token * assumed.gpu_tokens, own = peak_of(o, facts);
  const auto most = std::ranges::max_element(facts.peak_tflops, {}, [](const auto& p) { return p.second; });
  check(most != facts.peak_tflops.end(), "--hardware {}: its facts have no peak to compare an assumption with",
        facts.name);
  const double peak = most->second * 1e12;
  check(assumed.force || flops <= peak,
        "--assume-tokens-per-second {:g}: at {:.4g} GFLOP a token these are {:.0f} TFLOP/s of a GPU, {:.0f}% of the "
        "dense {} peak of {}, which no run reaches: assume less, or give --force",
        assumed.gpu_tokens, a_token / 1e9, flops / 1e12, 100 * flops / peak, most->first, facts.name);
  const double tokens = asked.run_tokens();
  const RunCost cost = cost_of(asked.prices, asked.gpus, tokens, assumed.gpu_tokens * double(asked.gpus), 1);
  std::string out =
      fmt::format("assumed: {:g} tokens/s of each of {} x {}: {:.0f} TFLOP/s, {:.0f}% of the dense {} peak",
                  assumed.gpu_tokens, asked.gpus, facts.name, flops / 1e12, 100 * flops / peak, most->first);
  if (own > 0 && own != peak) out += fmt::format(", {:.0f}% of what this run multiplies in", 100 * flops / own);
  out += fmt::format("\n{:.4g} tokens: {:.2f} days", tokens, cost.days);
  if (asked.prices.gpu_hour > 0) out += fmt::format(", {} USD", grouped(i64(std::llround(cost.usd))));
  if (asked.prices.watts > 0) out += fmt::format(", {:.4g} MWh", cost.mwh);
  return out + ", without failures";
}

}  // namespace megalith::search
