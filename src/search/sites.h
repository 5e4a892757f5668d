// Several sites with slow links between them. A replica of the model is within one site, so the sites are the outermost
// part of the data-parallel axis. Only gradients, or weights, go from site to site. All times are predictions.
#pragma once
#include <string>
#include <vector>

#include "planner/step_time.h"
#include "settings/options.h"

namespace megalith::search {

struct SiteSize {
  std::string name;
  i64 gpus = 0;
};

// automatic: the faster one of flat and hierarchical. local_sgd trains another way (DiLoCo, arXiv 2311.08105), so it is
// never the automatic choice.
enum class SiteMode { automatic, flat, hierarchical, local_sgd };

struct Sites {
  std::vector<SiteSize> all{};  // fewer than two: no transfers between sites
  double bandwidth = 0;         // bytes per second of a site's link, in each direction
  double latency = 0;           // seconds, one way
  SiteMode mode = SiteMode::automatic;
  i64 local_steps = 100;  // from one exchange of weights to the next one (local_sgd)

  bool any() const { return all.size() > 1; }
  i64 gpus() const;
  i64 common() const;  // the largest number of GPUs that divides each site
};

// The transfers between sites, for each step.
struct SiteTime {
  SiteMode mode = SiteMode::flat;
  double bytes = 0;    // that a site sends
  double seconds = 0;  // of the transfers
  double exposed = 0;  // of these, not hidden by the last micro-batch's backward
};

// `options`: with the layout. `inside`: the step without transfers between sites.
// flat: all ranks of an axis form one ring, which goes once through each site.
// hierarchical: reduce-scatter in each site, all-reduce from site to site, all-gather in each site.
// local_sgd: int8 differences of the weights, once in `local_steps` steps; nothing hides them.
SiteTime site_time(const Options& options, const StepTime& inside, const Sites& sites, SiteMode mode);
// By the mode of the sites.
SiteTime chosen_site_time(const Options& options, const StepTime& inside, const Sites& sites);

std::string_view name_of(SiteMode mode);

// "a:512,b:512". Error if it does not name two sites or more, each once, with numbers of GPUs.
std::vector<SiteSize> parse_sites(const std::string& text);
// "800Gb" (bits per second), "100GB" (bytes per second), with M, G or T. Returns bytes per second.
double parse_bandwidth(const std::string& text);
// "20ms", "50us", "0.02s". Returns seconds.
double parse_latency(const std::string& text);

}  // namespace megalith::search
