#include "inject/faults.h"

#include "base/check.h"
#include "inject/storm.h"

namespace megalith {

// Whether it is made by looking into runs.
static bool looks_in_runs(const Fault& f) {
  const FaultKind& kind = fault_kind(f);
  const bool is_plain = f.arguments.size() > 0 && f.value("behind").empty() && f.value("replay").empty() &&
                        kind.plain.find(f.arguments[0]) != std::string_view::npos;
  return (kind.looks_in && !is_plain) || f.value("in") == "exchange";
}

void check_faults(const std::vector<std::string>& texts, bool allowed, int ranks, bool looks_in) {
  const std::vector<Fault> faults = parse_faults(texts);
  find_storm(texts);
  const std::string first = texts.empty() ? "" : texts[0];
  check(first.empty() || allowed,
        "--inject {}: planted faults can cost a run's work: add --inject-allowed, or leave it out", first);
  for (const Fault& f : faults) {
    const bool looks = looks_in_runs(f);
    check(f.rank < ranks, "--inject {}: there is no rank {}: the run has {}", f.text, f.rank, ranks);
    check(looks_in || !looks, "--inject {}: a {} is planted on the CPU only: add --device cpu", f.text, f.kind);
  }
}

Faults::Faults(const std::vector<std::string>& texts, int rank, const FaultSite& site) {
  for (const Fault& f : parse_faults(texts)) {
    if (f.rank != rank) continue;
    (looks_in_runs(f) ? looking_ : planted_).push_back(fault_kind(f).make(f, site));
  }
}

void Faults::step_begins(i64 iteration) const {
  for (const auto* all : {&looking_, &planted_})
    for (const auto& fault : *all) fault->step_begins(iteration);
}

int Faults::save_step(std::string_view kind) const {
  int error = 0;
  for (const auto* all : {&looking_, &planted_})
    for (const auto& fault : *all)
      if (const int e = fault->save_step(kind); e != 0) error = e;
  return error;
}

std::vector<RunWatch*> Faults::watches() const {
  std::vector<RunWatch*> out;
  for (const auto& fault : looking_) out.push_back(fault.get());
  return out;
}

}  // namespace megalith
