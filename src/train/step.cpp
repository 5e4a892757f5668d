#include "train/step.h"

#include "optim/update.h"
#include "passes/gradients.h"

namespace megalith {

namespace {

using Workspace = std::function<i64(const Graph&, const Node&)>;

// Layers are alike: the backend is asked once for each kind of node.
Workspace workspace_of(const Backend& backend) {
  auto known = std::make_shared<std::map<std::string, i64>>();
  return [known, &backend](const Graph& g, const Node& n) {
    std::string key = n.op.print();
    for (Value v : n.ins) key += to_string(g.type(v));
    const auto [it, is_new] = known->emplace(std::move(key), 0);
    if (is_new) it->second = backend.workspace_bytes(g, n);
    return it->second;
  };
}

// Beside the step itself: what its activations would take without recomputation.
void recompute(PlannedStep& out, const StepSpec& spec, const Workspace& workspace) {
  const Plan whole =
      plan_memory(spec.mesh, {{"micro-batch", &out.train, {Phase::forward, Phase::backward}}}, workspace);
  out.unrecomputed_bytes = whole.programs[0].activation_bytes;
  out.passes.push_back(run_passes(out.train, {recompute_pass(spec.recompute)})[0]);
}

void build_training(PlannedStep& out, const StepSpec& spec, const std::set<std::string>& passes_off) {
  out.train.mesh = spec.mesh;
  Builder b(out.train);
  Gpt gpt = build_gpt(b, spec.model, spec.shape, spec.style);
  const Accumulators acc = add_gradients(b, gpt.parameters, gpt.loss, gpt.tokens);
  add_update(b, gpt.parameters, {acc.gradients, acc.loss, acc.tokens}, spec.optimizer);
  verify(out.train);
  out.parameters = unpacked(gpt.parameters);
  out.passes = run_passes(out.train, standard_passes(), passes_off);
}

void build_evaluation(PlannedStep& out, const StepSpec& spec, const std::set<std::string>& passes_off) {
  out.evaluate.mesh = spec.mesh;
  Builder b(out.evaluate);
  GptShape shape = spec.shape;
  shape.dropout = false;
  Gpt gpt = build_gpt(b, spec.model, shape, spec.style);
  const Accumulators sums = add_loss_sums(b, gpt.loss, gpt.tokens);
  out.evaluate.outputs["loss"] = reduced(b, sums.loss), out.evaluate.outputs["tokens"] = reduced(b, sums.tokens);
  if (spec.keep_logits) out.evaluate.outputs["logits"] = gpt.logits;
  if (!spec.train) out.parameters = unpacked(gpt.parameters);
  const auto reports = run_passes(out.evaluate, standard_passes(), passes_off);
  if (!spec.train) out.passes = reports;
}

}  // namespace

PlannedStep plan_step(const StepSpec& spec, const Backend& backend) {
  PlannedStep out;
  std::vector<ProgramSpec> programs;
  const Workspace workspace = workspace_of(backend);
  std::set<std::string> passes_off = backend.passes_off();
  passes_off.insert(spec.passes_off.begin(), spec.passes_off.end());
  if (spec.train) {
    build_training(out, spec, passes_off);
    if (spec.recompute.granularity != RecomputeConfig::Granularity::none) recompute(out, spec, workspace);
    programs.push_back({"micro-batch", &out.train, {Phase::forward, Phase::backward}});
    programs.push_back({"last-micro-batch", &out.train, {Phase::forward, Phase::backward, Phase::update}});
  }
  if (spec.evaluate) {
    build_evaluation(out, spec, passes_off);
    programs.push_back({"evaluate", &out.evaluate, {Phase::forward}});
  }
  out.plan = plan_memory(spec.mesh, programs, workspace);
  return out;
}

}  // namespace megalith
