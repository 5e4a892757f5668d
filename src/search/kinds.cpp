// The table that compares kinds of GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "search/report.h"

namespace megalith::search {

std::string kinds_text(const std::vector<Row>& rows, const Asked& asked) {
  const bool priced = std::ranges::any_of(rows, [](const Row& r) { return r.cost.usd > 0; });
  const bool powered = std::ranges::any_of(rows, [](const Row& r) { return r.cost.mwh > 0; });
  std::string out = fmt::format("{:>6} {:>14} {:>7} {:>9} {:>8} {:>6} {:>6} {:>7} {:>9}", "GPUs", "hardware", "GiB",
                                "s/step", "tok/s/G", "times", "MFU", "useful", "days");
  if (priced) out += fmt::format(" {:>12}", "USD");
  if (powered) out += fmt::format(" {:>9}", "MWh");
  out += "  layout";
  const Row* first = nullptr;  // first row with this number of GPUs
  for (const Row& r : rows) {
    if (!first || first->gpus != r.gpus) first = &r;
    out +=
        fmt::format("\n{:>6} {:>14} {:>7.1f} {:>9.4g} {:>8.0f} {:>6.2f} {:>6} {:>6.1f}% {:>9.4g}", r.gpus, r.hardware,
                    double(r.bytes) / (1 << 30), r.step_seconds, r.gpu_tokens(), r.gpu_tokens() / first->gpu_tokens(),
                    r.mfu > 0 ? fmt::format("{:.1f}%", 100 * r.mfu) : "-", 100 * r.goodput.useful, r.cost.days);
    if (priced) out += r.cost.usd > 0 ? fmt::format(" {:>12.0f}", r.cost.usd) : fmt::format(" {:>12}", "-");
    if (powered) out += fmt::format(" {:>9.4g}", r.cost.mwh);
    out += "  " + to_string(r.choice);
  }
  return out + fmt::format("\ndays{}{}: of {:.4g} tokens; times: the speed of a GPU over that of the first kind",
                           priced ? ", USD" : "", powered ? ", MWh" : "", asked.run_tokens());
}

}  // namespace megalith::search
