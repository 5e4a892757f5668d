// Rules about activations in the host's memory.
#include <algorithm>

#include <fmt/ranges.h>

#include "passes/kept_values.h"
#include "settings/compatibility.h"

namespace megalith {
namespace {

using Topic = Rule::Topic;
using Action = Rule::Action;

std::string offloadable_modules(const Options& o) {
  for (const std::string& m : o.offload.modules)
    if (!std::ranges::count(kOffloadModules, m))
      return fmt::format("--offload-modules {}: there is no such part here: {} are there", m,
                         fmt::join(kOffloadModules, ", "));
  return {};
}

std::string sizes(const Options& o) {
  const OffloadConfig& c = o.offload;
  if (!(c.fraction > 0 && c.fraction <= 1))
    return fmt::format("--activation-offload-fraction {} is out of range: from above 0 to 1 is wanted", c.fraction);
  if (c.min_tensor_size < 0)
    return fmt::format("--min-offloaded-tensor-size {} is negative: give a number of elements", c.min_tensor_size);
  return {};
}

// Weight gradients read values that the backward has fetched. So these would stay in the device's memory for twice the
// time.
std::string one_backward(const Options& o) {
  if (!o.offload.on || o.parallel.pipeline_schedule != PipelineSchedule::zero_bubble) return {};
  return "--fine-grained-activation-offloading saves little with --pipeline-schedule zero-bubble, whose weight "
         "gradients keep what was fetched: leave one out";
}

std::string something_goes(const Options& o) {
  if (o.offload.on) return {};
  for (const char* field : {"offload-modules", "min-offloaded-tensor-size", "activation-offload-fraction"})
    if (o.given.has(field))
      return fmt::format("--{} has no effect without --fine-grained-activation-offloading", field);
  return {};
}

}  // namespace

std::vector<Rule> offload_rules() {
  return {
      {"offload-modules are parts of the model", Topic::run, Action::refuse, offloadable_modules},
      {"sizes of offloading are in range", Topic::run, Action::refuse, sizes},
      {"offloaded activations have one backward", Topic::run, Action::refuse, one_backward},
      {"flags about offloaded activations come with the switch", Topic::run, Action::warn, something_goes},
  };
}

}  // namespace megalith
