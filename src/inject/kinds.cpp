// The kinds of faults.
#include <algorithm>

#include "base/check.h"
#include "inject/planted.h"

namespace megalith {

namespace {

constexpr FaultKind kKinds[] = {
    {"nan", ":TENSOR[:micro-batch=M][:position=P][:row=B]", true, "", make_nan_fault},
    {"flip", ":weight|grad|moment|wire[:name=LEAF][:bit=B][:element=E][:behind=update][:replay=N|all]", true,
     "weight moment", make_flip_fault},
    {"slow", ":TIMES[:steps=N]", true, "", make_slow_fault},
    {"kill", "[:in=exchange|save|init|load]", false, "", make_process_fault},
    {"term", "[:in=exchange|save|init|load]", false, "", make_process_fault},
    {"stop", "[:in=exchange|save|init|load]", false, "", make_process_fault},
    {"abort", "[:in=exchange|save|init|load]", false, "", make_process_fault},
    {"segv", "[:in=exchange|save|init|load]", false, "", make_process_fault},
    {"throw", "[:in=exchange|save|init|load]", false, "", make_process_fault},
    {"hang", "[:in=exchange|save|init|load]", false, "", make_process_fault},
    {"exit", "[:CODE][:in=exchange|save|init|load]", false, "", make_process_fault},
    {"oom", "", false, "", make_oom_fault},
    {"drop", "[:PEER]", false, "", make_drop_fault},
    {"disk", ":full|eio|slow[:seconds=S]", false, "", make_disk_fault},
    {"agent-kill", "", false, "", make_agent_fault},
    {"controller-kill", "", false, "", make_agent_fault},
};

}  // namespace

const FaultKind& fault_kind(const Fault& fault) {
  const auto found = std::ranges::find(kKinds, fault.kind, &FaultKind::name);
  std::string names;
  for (const FaultKind& k : kKinds) names += (names.empty() ? "" : ", ") + std::string(k.name);
  check(found != std::end(kKinds), "--inject {}: there is no kind {}: want one of {}", fault.text, fault.kind, names);
  return *found;
}

}  // namespace megalith
