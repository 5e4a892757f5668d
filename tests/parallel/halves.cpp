#include "tests/parallel/halves.h"

#include <algorithm>
#include <cmath>

#include "tests/parallel/layouts.h"

namespace megalith::parity {
namespace {

const char* const kLayouts[] = {
    "tp2 dp2 pp2 sp distopt llama groups2",
    "tp4 dp2 overlap gpt2 both-drop",
    "cp4-ring tp2 sp distopt-overlap llama groups2 both-drop documents",
    "cp2-a2a dp4 distopt-small untied",
    "pp2-vp2-zb dp2 mtp-again distopt-small",
    "pp4 dp2 overlap llama groups2 both-drop",
    "tp2 dp2 pp2 etp2 ep2 eight aux",
    "tp2 cp2 dp2 etp1 ep4 eight bias all-aux gated mtp1 mla distopt",
};

// With these flags gradients overflow every few steps.
constexpr const char* kMoving = " --fp16 --initial-loss-scale 4194304 --loss-scale-window 1 --hysteresis 2";

// An f16 number has a relative error of at most u = 2^-11. As in golden-check, a logit has 15 roundings for each of
// four layers and five more: sqrt(65) u. The loss is a mean over 128 tokens, initially 4.6. Gradient norms have these
// roundings twice, in the forward and in the backward.
constexpr double kLogits = 0x1p-11 * 8.1;
const double kLoss = 4 * kLogits / std::sqrt(128.0), kNorm = 4 * kLogits;

// The values of steps that were not skipped. Norms of skipped steps are infinite.
std::vector<double> counted(const std::vector<double>& of, const std::vector<double>& skipped) {
  std::vector<double> out;
  for (size_t i = 0; i < std::min(of.size(), skipped.size()); ++i)
    if (skipped[i] == 0) out.push_back(of[i]);
  return out;
}

Distance distance_of_counted(Outcome a, Outcome b) {
  for (Outcome* o : {&a, &b}) {
    o->losses = counted(o->losses, o->skipped), o->norms = counted(o->norms, o->skipped);
    for (auto& [name, values] : o->terms) values = counted(values, o->skipped);
  }
  return distance(a, b);
}

// Like same_bits(), but without the values of skipped steps, because no NaN equals another.
bool runs_again(const Outcome& a, const Outcome& b) {
  return a.state == b.state && a.skipped == b.skipped && a.scales == b.scales && a.validation == b.validation &&
         counted(a.losses, a.skipped) == counted(b.losses, b.skipped);
}

}  // namespace

int fp16(const Hall& at) {
  std::vector<Job> jobs;
  for (const char* words : kLayouts) {
    const Layout l = layout_of(words);
    for (int time = 0; time < 2; ++time) jobs.push_back({l.name, l.model + l.ranks + kMoving, l.size});
    jobs.push_back({"reference:" + l.reference, l.reference + kMoving, l.reference_size});
  }
  const std::vector<Outcome> outcomes = run_jobs(at.ranks, jobs, at.folder);
  int bad = 0;
  for (size_t i = 0; i < outcomes.size(); i += 3) {
    const Outcome &layout = outcomes[i], &one = outcomes[i + 2];
    const Distance d = distance_of_counted(layout, one);
    const auto skips = std::ranges::count(one.skipped, 1);
    const bool same = runs_again(layout, outcomes[i + 1]);
    // If rounding sends a token to another expert, the loss terms of a mixture change abruptly.
    const bool chooses = jobs[i].name.find(" eight ") != std::string::npos;
    const bool alike = layout.skipped == one.skipped && layout.scales == one.scales && skips >= 2 && skips <= 8;
    const bool good = same && alike && d.loss <= kLoss && (chooses || d.terms <= kNorm) && d.norm <= kNorm;
    bad += !good;
    at.say(
        "{}  {} ranks  loss {:.0e} (at most {:.0e})  terms {:.0e}  norm {:.0e} (at most {:.0e})  {} of {} skipped{}{}  "
        "{}",
        good ? "ok  " : "FAIL", jobs[i].size, d.loss, kLoss, d.terms, d.norm, kNorm, skips, one.skipped.size(),
        alike ? "" : ", not the same", same ? "  same bits" : "", jobs[i].name);
  }
  return bad;
}

}  // namespace megalith::parity
