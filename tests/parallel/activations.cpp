#include "tests/parallel/activations.h"

#include "exec/cpu/backend.h"
#include "settings/schedules.h"
#include "tests/parallel/flags.h"
#include "tests/parallel/layouts.h"
#include "tests/parallel/ways.h"

namespace megalith::parity {

int activations(const Hall& at) {
  const std::string other = " --fine-grained-activation-offloading --min-offloaded-tensor-size 0";
  const std::string named =
      " --offload-modules attn_norm qkv_linear core_attn attn_proj mlp_norm mlp_fc1 mlp_act mlp_fc2";
  const std::string ahead = " --overlap-grad-reduce --overlap-param-gather";
  const Ways ways{.name = "activations",
                  .plain = "",
                  .other = other + named,
                  .runs = {{"tp1 llama micro2", " --bf16"},
                           {"tp2 sp llama groups1", " --bf16"},
                           {"tp2 dp2 sp distopt-small both-drop", ahead},
                           {"cp2 dp2 distopt again-layers", " --bf16"},
                           {"cp2-ring llama", ""},
                           {"cp2-a2a dp2 qwen again-parts", ""},
                           {"tp1 gemma", " --bf16"},
                           {"tp2 sp olmo2 groups2", " --bf16"},
                           {"pp2 olmo2 again-layers", ""},
                           {"dp4 distopt-small", " --bf16 --optimizer-cpu-offload" + ahead},
                           {"pp2 micro2", " --bf16"},
                           {"pp2-vp2 dp2 distopt-small", " --bf16"},
                           {"pp2 tp2 again-block hidden-drop", ""}}};
  for (const auto& [words, more] : ways.runs) {
    const Layout l = layout_of(words);
    const Options o = options_of(l.model + l.ranks + ways.other + more, l.size);
    check(!plan_step(step_spec(o), *make_cpu_backend()).offloaded.bytes.empty(), "{}{}: nothing is on the host", words,
          more);
  }
  return compare_ways(at, ways);
}

}  // namespace megalith::parity
