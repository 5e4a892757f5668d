#include "cli/plan_sites.h"

#include <fmt/format.h>

namespace megalith {

void list_site_fields(PlanFlags& c, config::FieldList& f) {
  f.add("sites", c.sites,
        "Sites with a slow link between them, and the GPUs of each: a:512,b:512. A replica is within one site.")
      .shown_as("NAME:N,NAME:N");
  f.add("site-bandwidth", c.site_bandwidth, "Rate of a site's link in each direction: 800Gb (bits) or 100GB (bytes).")
      .shown_as("RATE");
  f.add("site-latency", c.site_latency, "Time from one site to the next, one way: 20ms.").shown_as("TIME");
  f.add("site-mode", c.between.mode, {"auto", "flat", "hierarchical", "local-sgd"},
        "How gradients go between sites; auto: the faster one of flat and hierarchical.");
  f.add("local-steps", c.between.local_steps, "Steps from one exchange of weights to the next one with local-sgd.");
}

void read_sites(PlanFlags& c, std::vector<std::string>& mistakes) {
  const auto read = [&](auto parse) {
    try {
      parse();
    } catch (const Error& e) {
      mistakes.push_back(e.what());
    }
  };
  const config::Given& given = c.options.given;
  if (c.sites.empty()) {
    for (const char* flag : {"site-bandwidth", "site-latency", "site-mode", "local-steps"})
      if (given.has(flag)) mistakes.push_back(fmt::format("--{} needs --sites: give both", flag));
    return;
  }
  if (c.site_bandwidth.empty() || c.site_latency.empty())
    mistakes.push_back("--sites needs --site-bandwidth and --site-latency: give all three");
  read([&] { c.between.all = search::parse_sites(c.sites); });
  if (!c.site_bandwidth.empty()) read([&] { c.between.bandwidth = search::parse_bandwidth(c.site_bandwidth); });
  if (!c.site_latency.empty()) read([&] { c.between.latency = search::parse_latency(c.site_latency); });
  if (c.between.local_steps < 1)
    mistakes.push_back(fmt::format("--local-steps {}: want 1 or more", c.between.local_steps));
  if (!c.between.any()) return;
  const std::string sum = std::to_string(c.between.gpus());
  if (c.gpus.empty()) c.gpus = sum;
  if (c.gpus != sum)
    mistakes.push_back(
        fmt::format("--gpus {}: the sites have {} GPUs: give this number, or leave --gpus out", c.gpus, sum));
  if (kinds_of(c).size() > 1) mistakes.push_back("--sites is of one kind of GPUs: give --hardware one");
}

}  // namespace megalith
