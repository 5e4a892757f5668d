// The transfers between sites, in each mode.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "search/report.h"
#include "search/sites.h"

namespace megalith::search {

std::string sites_text(const Options& base, const Row& row, const Asked& asked) {
  Options sized = base;
  sized.parallel.world_size = asked.gpus;
  const Options o = with(sized, row.choice);
  const Sites& sites = asked.sites;
  std::vector<std::string> names;
  for (const SiteSize& site : sites.all) names.push_back(fmt::format("{} ({} GPUs)", site.name, site.gpus));
  std::string out = fmt::format(
      "sites: {}; {:g} Gb/s and {:g} ms one way between them; of #1:\n  {:<12} {:>9} {:>10} {:>9} {:>8} {:>10}",
      fmt::join(names, ", "), sites.bandwidth * 8 / 1e9, sites.latency * 1e3, "mode", "GB/step", "transfer s",
      "hidden s", "s/step", "efficiency");
  for (const SiteMode mode : {SiteMode::flat, SiteMode::hierarchical, SiteMode::local_sgd}) {
    const SiteTime t = site_time(o, row.inside, sites, mode);
    const double step = row.inside.seconds + t.exposed;
    out += fmt::format("\n  {:<12} {:>9.4g} {:>10.4g} {:>9.4g} {:>8.4g} {:>9.1f}%{}", name_of(mode), t.bytes / 1e9,
                       t.seconds, t.seconds - t.exposed, step, 100 * row.inside.seconds / step,
                       mode == row.site.mode ? "  (in the table above)" : "");
  }
  return out + fmt::format(
                   "\n  efficiency: of the step without transfers between sites. The trainer reduces flat. Hierarchical"
                   "\n  and local-sgd are only priced. local-sgd (every {} steps, in int8) changes the loss curve.",
                   sites.local_steps);
}

}  // namespace megalith::search
