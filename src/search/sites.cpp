#include "search/sites.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/check.h"
#include "models/gpt/gpt.h"
#include "settings/batch_sizes.h"
#include "settings/precision.h"
#include "step/model_size.h"

namespace megalith::search {

i64 Sites::gpus() const {
  i64 sum = 0;
  for (const SiteSize& site : all) sum += site.gpus;
  return sum;
}

i64 Sites::common() const {
  i64 out = 0;
  for (const SiteSize& site : all) out = std::gcd(out, site.gpus);
  return out;
}

std::string_view name_of(SiteMode mode) {
  constexpr std::string_view kNames[] = {"auto", "flat", "hierarchical", "local-sgd"};
  return kNames[int(mode)];
}

namespace {

// Gradients are complete only in the last micro-batch's backward, so only this hides their transfers. The backward is
// two thirds of a micro-batch's time.
double hiding_seconds(const Options& o, const StepTime& inside) {
  if (!o.parallel.overlap_grad_reduce) return 0;
  return 2.0 / 3 * inside.seconds / (1 + inside.bubble) / double(micro_batches(o));
}

}  // namespace

SiteTime site_time(const Options& o, const StepTime& inside, const Sites& sites, SiteMode mode) {
  const Precision r = precision_of(o);
  const double parameters = size_of(Gpt(o.model)).parameters(), n = double(sites.all.size());
  const double gradients = parameters * double(size_of(r.gradient_communication));
  const double replicas = double(o.parallel.data_parallel_size());
  SiteTime out{.mode = mode};
  if (mode == SiteMode::local_sgd) {
    out.bytes = 2 * (n - 1) / n * parameters / double(sites.local_steps);
    out.seconds = out.exposed = out.bytes / sites.bandwidth + 2 * (n - 1) * sites.latency / double(sites.local_steps);
    return out;
  }
  // A ring sends each number almost once through each link of a phase. The second phase gathers gradients, or the
  // weights that a rank of the distributed optimizer has updated.
  const bool gathers_weights = o.parallel.use_distributed_optimizer && mode == SiteMode::flat;
  const double second = gathers_weights ? parameters * double(size_of(r.parameters)) : gradients;
  const double around = mode == SiteMode::flat ? (replicas - 1) / replicas : (n - 1) / n;
  const double hops = 2 * (mode == SiteMode::flat ? n : n - 1);
  out.bytes = around * (gradients + second);
  out.seconds = out.bytes / sites.bandwidth + hops * sites.latency;
  // The end of the last bucket is sent after the backward.
  const double hidden = std::min(hiding_seconds(o, inside), out.bytes / sites.bandwidth);
  out.exposed = out.seconds - hidden;
  return out;
}

SiteTime chosen_site_time(const Options& o, const StepTime& inside, const Sites& sites) {
  if (sites.mode != SiteMode::automatic) return site_time(o, inside, sites, sites.mode);
  const SiteTime flat = site_time(o, inside, sites, SiteMode::flat),
                 hierarchical = site_time(o, inside, sites, SiteMode::hierarchical);
  return flat.exposed < hierarchical.exposed ? flat : hierarchical;
}

namespace {

struct Quantity {
  double number = 0;
  std::string unit{};
};

Quantity quantity_of(const std::string& text) {
  size_t end = 0;
  Quantity out;
  try {
    out.number = std::stod(text, &end);
  } catch (const std::exception&) {  // no number, or one out of range
    end = 0;
  }
  if (end == 0 || !std::isfinite(out.number) || out.number < 0) return {};
  out.unit = text.substr(end);
  return out;
}

}  // namespace

std::vector<SiteSize> parse_sites(const std::string& text) {
  const auto hold = [&](bool good) {
    check(good, "--sites {}: want two sites or more with their GPUs, as in a:512,b:512", text);
  };
  std::vector<SiteSize> out;
  std::set<std::string> names;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const size_t colon = part.find(':');
    hold(colon != part.npos && colon > 0);
    const std::string digits = part.substr(colon + 1);
    hold(!digits.empty() && digits.size() <= 7 &&
         std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; }));
    out.push_back({part.substr(0, colon), std::stoll(digits)});
    hold(out.back().gpus > 0 && names.insert(out.back().name).second);
    at = end + 1;
  }
  hold(out.size() > 1);
  return out;
}

double parse_bandwidth(const std::string& text) {
  const Quantity q = quantity_of(text);
  for (const auto& [letter, factor] : {std::pair('M', 1e6), {'G', 1e9}, {'T', 1e12}})
    if (q.unit.size() == 2 && q.unit[0] == letter && (q.unit[1] == 'b' || q.unit[1] == 'B') && q.number > 0)
      return q.number * factor / (q.unit[1] == 'b' ? 8 : 1);
  fail("--site-bandwidth {}: want bits or bytes per second, as in 800Gb or 100GB", text);
}

double parse_latency(const std::string& text) {
  const Quantity q = quantity_of(text);
  for (const auto& [unit, factor] : {std::pair("s", 1.0), {"ms", 1e-3}, {"us", 1e-6}})
    if (q.unit == unit) return q.number * factor;
  fail("--site-latency {}: want a time one way, as in 20ms", text);
}

}  // namespace megalith::search
