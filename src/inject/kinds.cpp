// The kinds of faults.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "inject/planted.h"

namespace megalith {

namespace {

constexpr FaultKind kKinds[] = {
    {"nan", ":TENSOR[:micro-batch=M][:position=P][:row=B]", true, "", make_nan_fault},
    {"flip", ":weight|grad|moment[:name=LEAF][:bit=B][:element=E][:behind=update][:replay=N|all]", true,
     "weight moment", make_flip_fault},
    {"slow", ":TIMES[:steps=N]", true, "", make_slow_fault},
    {"kill", "", false, "", make_process_fault},
    {"term", "", false, "", make_process_fault},
    {"stop", "", false, "", make_process_fault},
    {"abort", "", false, "", make_process_fault},
    {"segv", "", false, "", make_process_fault},
    {"throw", "", false, "", make_process_fault},
    {"hang", "", false, "", make_process_fault},
    {"exit", "[:CODE]", false, "", make_process_fault},
};
constexpr std::array kNotBuilt = {"oom", "drop", "disk", "agent-kill", "controller-kill", "storm"};

}  // namespace

const FaultKind& fault_kind(const Fault& fault) {
  check(std::ranges::find(kNotBuilt, fault.kind) == std::end(kNotBuilt),
        "--inject {}: faults of the kind {} are not built yet: leave it out", fault.text, fault.kind);
  const auto found = std::ranges::find(kKinds, fault.kind, &FaultKind::name);
  std::string names;
  for (const FaultKind& k : kKinds) names += (names.empty() ? "" : ", ") + std::string(k.name);
  check(found != std::end(kKinds), "--inject {}: there is no kind {}: want one of {}", fault.text, fault.kind, names);
  return *found;
}

}  // namespace megalith
