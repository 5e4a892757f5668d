#include "train/step.h"

#include <list>

#include "optim/update.h"
#include "passes/gradients.h"

namespace megalith {

namespace {

using Workspace = std::function<i64(const Graph&, const Node&)>;

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
  const bool cut = spec.shard_optimizer && spec.mesh.n(Axis::dp) * spec.mesh.n(Axis::cp) > 1;
  if (cut) out.pools = make_pools(spec.mesh, gpt.parameters, spec.pool_size);
  add_update(b, gpt.parameters, {acc.gradients, acc.loss, acc.tokens}, spec.optimizer, out.pools, spec.overlap);
  verify(out.train);
  out.parameters = unpacked(gpt.parameters);
  out.passes = run_passes(out.train, standard_passes(), passes_off);
  if (spec.overlap.tensor) out.passes.push_back(run_passes(out.train, {{"overlap-tensor", overlap_tensor}})[0]);
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

// Layers are alike: the backend is asked once for each kind of node.
std::function<i64(const Graph&, const Node&)> workspace_of(const Backend& backend) {
  auto known = std::make_shared<std::map<std::string, i64>>();
  return [known, &backend](const Graph& g, const Node& n) {
    std::string key = n.op.print();
    for (Value v : n.ins) key += to_string(g.type(v));
    const auto [it, is_new] = known->emplace(std::move(key), 0);
    if (is_new) it->second = backend.workspace_bytes(g, n);
    return it->second;
  };
}

void add_state_programs(std::vector<ProgramSpec>& programs, std::list<Graph>& graphs, const PlannedStep& step,
                        const StepSpec& spec, const std::set<std::string>& passes_off) {
  if (step.pools.empty()) return;
  const auto add = [&](const std::string& name, Graph graph) {
    run_passes(graphs.emplace_back(std::move(graph)), standard_passes(), passes_off);
    programs.push_back({name, &graphs.back(), {Phase::update}});
  };
  for (const auto name : {main_name, first_moment_name, second_moment_name}) {
    if (name == second_moment_name && spec.optimizer.optimizer != OptimizerKind::adam) continue;
    add("take" + name(""), take_state(spec.mesh, step.pools, name));
    add("give" + name(""), give_state(spec.mesh, step.pools, name));
  }
}

PlannedStep plan_step(const StepSpec& spec, const Backend& backend) {
  if (spec.pipeline.schedule.stages > 1) return plan_stage(spec, backend);
  PlannedStep out;
  std::list<Graph> state;
  std::vector<ProgramSpec> programs;
  const Workspace workspace = workspace_of(backend);
  std::set<std::string> passes_off = backend.passes_off();
  passes_off.insert(spec.passes_off.begin(), spec.passes_off.end());
  if (spec.train) {
    build_training(out, spec, passes_off);
    if (spec.recompute.granularity != RecomputeConfig::Granularity::none) recompute(out, spec, workspace);
    programs.push_back({"micro-batch", &out.train, {Phase::forward, Phase::backward}});
    programs.push_back({"last-micro-batch", &out.train, {Phase::forward, Phase::backward, Phase::update}});
    add_state_programs(programs, state, out, spec, passes_off);
  }
  if (spec.evaluate) {
    build_evaluation(out, spec, passes_off);
    programs.push_back({"evaluate", &out.evaluate, {Phase::forward}});
  }
  out.plan = plan_memory(spec.mesh, programs, workspace);
  return out;
}

}  // namespace megalith
