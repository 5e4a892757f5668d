#include "tests/parallel/offload.h"

#include "exec/cpu/backend.h"
#include "settings/schedules.h"
#include "tests/parallel/flags.h"
#include "tests/parallel/layouts.h"
#include "tests/parallel/ways.h"

namespace megalith::parity {

// A window is a sixteenth of the state, which is smaller than most matrices of these models. So windows cut large
// matrices, and small ones share a window.
int offload(const Hall& at) {
  const std::string other = " --optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d";
  const std::string ahead = " --overlap-grad-reduce --overlap-param-gather";
  const Ways ways{.name = "offload",
                  .plain = "",
                  .other = other,
                  .runs = {{"tp1 llama", ""},
                           {"tp1", " --bf16"},
                           {"tp1 micro2", " --optimizer-offload-fraction 0.5 --bf16"},
                           {"tp2 sp llama groups1", " --bf16"},
                           {"dp2 untied", ""},
                           {"dp4 distopt-small llama", ""},
                           {"dp4 distopt-small", " --bf16"},
                           {"dp4 distopt-small", " --bf16 --optimizer-offload-fraction 0.3"},
                           {"dp4 distopt-small llama", " --bf16 --async-save" + ahead},
                           {"tp2 dp2 sp distopt-small both-drop", ahead},
                           {"cp2 dp2 distopt again-layers", " --bf16"},
                           {"pp2 micro2", " --bf16"},
                           {"pp2-vp2 dp2 distopt-small", " --bf16"},
                           {"pp2-vp2-zb dp2 distopt-small untied", ahead},
                           {"dp2 distopt-small", " --lr 1e30 --bf16"}}};
  for (const auto& [words, more] : ways.runs) {
    const Layout l = layout_of(words);
    const Options o = options_of(l.model + l.ranks + other + more, l.size);
    check(plan_step(step_spec(o), *make_cpu_backend()).plan.host_bytes > 0, "{}{}: no state is on the host", words,
          more);
  }
  return compare_ways(at, ways);
}

}  // namespace megalith::parity
