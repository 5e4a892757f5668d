#include "step/step.h"

#include <list>

#include "graph/relayout_op.h"
#include "optim/offload.h"
#include "optim/update.h"
#include "passes/gather_ahead.h"
#include "passes/gradients.h"
#include "passes/stream_state.h"

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
  out.pools = pools_of(spec, gpt.parameters);
  gather_weights(b, out.pools, gpt.parameters);
  add_update(b, gpt.parameters, {acc.gradients, acc.loss, acc.tokens}, spec.optimizer, out.pools, spec.traffic);
  verify(out.train);
  out.parameters = unpacked(gpt.parameters);
  out.passes = run_passes(out.train, standard_passes(spec.traffic.ring), passes_off);
  if (spec.traffic.overlap_tensor) out.passes.push_back(run_passes(out.train, {{"overlap-tensor", overlap_tensor}})[0]);
  if (spec.optimizer.optimizer_cpu_offload)
    out.passes.push_back(run_passes(out.train, {stream_state_pass(spec.optimizer)})[0]);
}

// When no other pass moves what reads the weights.
void place_gathers(Graph& g, const StepSpec& spec, std::vector<PassReport>& reports) {
  if (spec.traffic.overlap_weights) reports.push_back(run_passes(g, {{"gather-ahead", gather_ahead}})[0]);
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
  gather_weights(b, out.pools, gpt.parameters);
  auto reports = run_passes(out.evaluate, standard_passes(spec.traffic.ring), passes_off);
  place_gathers(out.evaluate, spec, reports);
  if (!spec.train) out.passes = reports;
}

}  // namespace

double runs_a_step(const Plan& plan, const std::string& program, i64 micro_batches) {
  for (const char* other : {"evaluate", "take", "spread"})
    if (program.starts_with(other)) return 0;
  if (program == "update" || program.starts_with("last-")) return 1;
  return double(plan.find_program("last-" + program) ? micro_batches - 1 : micro_batches);
}

double runs_a_step(const Plan& plan, const std::string& program, const Instruction& in, i64 micro_batches) {
  const double runs = runs_a_step(plan, program, micro_batches);
  if (is_carried_out(in.op, false) || runs == 0) return runs;
  return program.starts_with("last-") && micro_batches > 1 ? 0 : 1;
}

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

// The pool that the forward reads first is gathered by the update, beside the rest of it: nothing stands before its
// reader to hide it behind.
std::vector<Pool> pools_of(const StepSpec& spec, const std::vector<Parameter>& parameters) {
  const bool cut = spec.shard_optimizer && spec.mesh.n(Axis::dp) * spec.mesh.n(Axis::cp) > 1;
  if (!cut) return {};
  std::vector<Pool> pools = make_pools(spec.mesh, parameters, spec.pool_size, spec.optimizer);
  place_on_host(pools, spec.optimizer);
  for (Pool& pool : pools)
    pool.late = spec.traffic.overlap_weights && std::ranges::find(pool.members, 0u) == pool.members.end();
  return pools;
}

void add_state_programs(std::vector<ProgramSpec>& programs, std::list<Graph>& graphs, const PlannedStep& step,
                        const StepSpec& spec, const std::set<std::string>& passes_off) {
  if (step.pools.empty()) return;
  const auto add = [&](const std::string& name, Graph graph) {
    run_passes(graphs.emplace_back(std::move(graph)), standard_passes(), passes_off);
    programs.push_back({name, &graphs.back(), {Phase::update}});
  };
  add("take main", take_main(spec.mesh, step.pools));
  add("spread weights", spread_weights(spec.mesh, step.pools));
}

namespace {

PlannedStep plan_without(const StepSpec& spec, const Workspace& workspace, const std::set<std::string>& passes_off) {
  PlannedStep out;
  std::list<Graph> state;
  std::vector<ProgramSpec> programs;
  if (spec.train) {
    build_training(out, spec, passes_off);
    if (spec.recompute.granularity != RecomputeConfig::Granularity::none) recompute(out, spec, workspace);
    place_gathers(out.train, spec, out.passes);
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

// With room for what a run takes beside its plan (memory_need.h), here not known to the byte: copies of the state, f32,
// and batches, buffers, libraries.
bool fits(const PlannedStep& step, const StepSpec& spec, const Backend& backend) {
  constexpr i64 kSpare = i64{512} << 20, kBesideCopies = i64{1} << 30;
  const i64 host = backend.host_bytes() ? 0 : step.plan.host_bytes;  // of the same memory, if there is one
  i64 elements = 0;
  for (const Parameter& p : step.parameters) elements += p.type.elements();
  const i64 copies = spec.copies_state ? 3 * size_of(DType::f32) * elements + kBesideCopies : 0;
  return step.plan.arena_bytes + host + backend.fixed_bytes() + copies + kSpare <= backend.available_bytes();
}

}  // namespace

PlannedStep plan_step(const StepSpec& spec, const Backend& backend) {
  if (spec.pipeline.schedule.stages > 1) return plan_stage(spec, backend);
  const Workspace workspace = workspace_of(backend);
  std::set<std::string> passes_off = backend.passes_off();
  passes_off.insert(spec.passes_off.begin(), spec.passes_off.end());
  if (!spec.train || spec.mesh.num_ranks() > 1) return plan_without(spec, workspace, passes_off);
  std::set<std::string> fewer_bytes = passes_off;
  passes_off.insert("remake");  // which costs time: unless memory needs it
  PlannedStep faster = plan_without(spec, workspace, passes_off);
  return fits(faster, spec, backend) ? std::move(faster) : plan_without(spec, workspace, fewer_bytes);
}

}  // namespace megalith
