// The table of different numbers of GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "search/report.h"

namespace megalith::search {

std::string counts_text(const std::vector<Row>& rows, const Asked& asked) {
  const bool priced = asked.prices.gpu_hour > 0, powered = asked.prices.watts > 0;
  std::string out = fmt::format("{:>6} {:>7} {:>9} {:>8} {:>6} {:>7} {:>9}", "GPUs", "GiB", "s/step", "tok/s/G", "MFU",
                                "useful", "days");
  if (priced) out += fmt::format(" {:>12}", "USD");
  if (powered) out += fmt::format(" {:>9}", "MWh");
  out += "  layout";
  for (const Row& r : rows) {
    out += fmt::format("\n{:>6} {:>7.1f} {:>9.4g} {:>8.0f} {:>6} {:>6.1f}% {:>9.4g}", r.gpus,
                       double(r.bytes) / (1 << 30), r.step_seconds, r.gpu_tokens(),
                       r.mfu > 0 ? fmt::format("{:.1f}%", 100 * r.mfu) : "-", 100 * r.goodput.useful, r.cost.days);
    if (priced) out += fmt::format(" {:>12.0f}", r.cost.usd);
    if (powered) out += fmt::format(" {:>9.4g}", r.cost.mwh);
    out += "  " + to_string(r.choice);
  }
  return out;
}

}  // namespace megalith::search
