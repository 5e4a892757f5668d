#include "tests/parallel/mistakes.h"

#include <set>
#include <sstream>

#include "exec/cpu/backend.h"
#include "settings/schedules.h"
#include "step/step.h"
#include "tests/parallel/layouts.h"
#include "tests/parallel/watched.h"

namespace megalith::parity {
namespace {

// Layouts whose plans together contain most kinds of relayouts.
const char* const kMistaken[] = {
    "tp2 cp2 dp2 sp distopt-overlap llama groups2 untied documents",
    "tp4 dp2 overlap gpt2 both-drop",
    "tp2 cp2-a2a dp2 sp gpt2 hidden-drop again-layers",
    "tp4 cp2 groups2 qwen sp",
    "cp4-ring tp2 llama groups2",
    "tp2 dp2 pp2 sp groups2 llama distopt",
    "dp4 pp2-vp2 distopt-overlap gpt2",
    "tp2 cp2 dp2 etp1 ep4 eight bias all-aux gated mtp1 mla distopt",
    "tp2 dp2 pp2 etp2 ep2 eight aux",
};

// Rank 0 plans the step and sends the kinds to the other ranks.
std::vector<std::string> relayouts_of(const Hall& at, const Layout& l, const std::string& flags) {
  std::string kinds;
  if (at.ranks.rank() == 0) {
    const PlannedStep step = plan_step(step_spec(options_of(flags, l.size)), *make_cpu_backend());
    for (const std::string& kind : kinds_of_relayouts(step.plan)) kinds += kind + "\n";
  }
  std::istringstream told(at.ranks.all_gather(kinds)[0]);
  std::vector<std::string> out;
  for (std::string kind; std::getline(told, kind);) out.push_back(kind);
  return out;
}

}  // namespace

int mistakes(const Hall& at) {
  const std::string short_run = " --train-iters 3 --eval-interval 3 --eval-iters 1";
  std::vector<Job> jobs;
  std::vector<size_t> references;
  std::set<std::string> seen;
  for (const char* words : kMistaken) {
    const Layout l = layout_of(words);
    const std::string flags = l.model + l.ranks + short_run;
    const size_t reference = jobs.size();
    const auto add = [&](const std::string& fault) {
      jobs.push_back({l.name, flags, l.size, fault, /*plan=*/flags}), references.push_back(reference);
    };
    add("");
    for (const std::string& kind : relayouts_of(at, l, flags)) {
      const bool is_new = seen.insert(kind).second;
      if (is_new || !at.is_short()) add(kind);
    }
  }
  const std::vector<Outcome> outcomes = run_jobs(at.ranks, jobs, at.folder);
  int bad = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].fault.empty()) {
      at.say("{}", jobs[i].name);
      continue;
    }
    const double off = distance(outcomes[i], outcomes[references[i]]).worst();
    const bool noticed = !(off <= kTolerance);
    bad += !noticed;
    at.say("  {}  off by {:.0e}  without one {}", noticed ? "noticed" : "FAIL   ", off, jobs[i].fault);
  }
  at.say("{} relayouts left out, {} not noticed", jobs.size() - std::size(kMistaken), bad);
  return bad;
}

}  // namespace megalith::parity
