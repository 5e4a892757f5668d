// The fp8 and fp4 parts of a step: products, the states of their scales, and weights in transfer between ranks.
#include "passes/gather_codes.h"
#include "passes/tell_amax.h"
#include "step/step_planner.h"

namespace megalith {

void StepPlanner::keep_scales(const ScaleStates& states) {
  if (states.names.empty()) return;
  for (const std::string& name : states.names)
    out_.untrained.push_back(
        {.name = name, .kind = ParameterKind::vector, .type = states.type, .true_rows = states.type.dim(0)});
  out_.scales.push_back(states);
}

void StepPlanner::end_scales(Builder& b, const ScaleStates& states, Value seen) {
  if (spec_.tells_amax) seen = tell_amax(b, states.seen_name, seen);
  update_scales(b, spec_.quantize.config, states, seen, b.graph().outputs.at("step"));
}

// In a pipeline a separate program gives the counts of all pieces.
void StepPlanner::end_counts(Graph& g, const CastCounts& counts) {
  if (!counts.seen) return;
  out_.counts.push_back(counts);
  if (in_pipeline()) return;
  Builder b(g);
  tell_counts(b, counts.seen_name, counts.seen);
}

QuantizeReport StepPlanner::quantize_products(Graph& g, const std::string& of, const std::string& suffix) {
  if (!spec_.quantize.config.on()) return {};
  QuantizeSpec spec = spec_.quantize;
  spec.suffix = suffix, spec.counts = spec_.tells_counts;
  QuantizeReport report;
  run(g, of, {{"quantize", [&](Graph& graph) {
                 report = quantize(graph, spec);
                 return report.layers > 0;
               }}});
  check(report.layers > 0 || in_pipeline(), "--{} {} finds no linear layer to quantize: leave it out",
        spec.config.is_fp4() ? "fp4-recipe" : "fp8-recipe", name_of_recipe(spec.config));
  return report;
}

void StepPlanner::gather_as_codes(Graph& g, const std::string& of) {
  if (!spec_.quantize.config.gather_codes || out_.buckets.empty()) return;
  run(g, of, {{"gather-codes", [&](Graph& graph) { return gather_codes(graph, out_.buckets, parameters_); }}});
}

}  // namespace megalith
