#include "step/step.h"

#include "graph/relayout_op.h"
#include "plan/unverified.h"
#include "step/step_planner.h"

namespace megalith {

double runs_a_step(const Plan& plan, const std::string& program, i64 micro_batches) {
  for (const char* other : {"evaluate", "take", "spread"})
    if (program.starts_with(other)) return 0;
  if (program == "update" || program == kNorms || program.starts_with("last-")) return 1;
  return double(plan.find_program("last-" + program) ? micro_batches - 1 : micro_batches);
}

double runs_a_step(const Plan& plan, const std::string& program, const Instruction& in, i64 micro_batches) {
  const double runs = runs_a_step(plan, program, micro_batches);
  if (!in.first_only || runs == 0) return runs;
  return program.starts_with("last-") && micro_batches > 1 ? 0 : 1;
}

namespace {

// Bytes that only equal types have.
void append_key(std::string& key, const Type& t) {
  const auto number = [&](i64 n) { key.append(reinterpret_cast<const char*>(&n), sizeof n); };
  number(i64(t.dtype)), number(t.ndim());
  for (const i64 size : t.shape) number(size);
  for (const AxisList& uses : t.layout.dims) {
    number(i64(uses.size()));
    for (const AxisUse& u : uses) number(i64(u.axis)), number(i64(u.order)), number(u.rotated);
  }
  for (const AxisSet axes : {t.layout.partial, t.layout.copy, t.layout.max}) {
    number(axes.size());
    for (const Axis a : axes) number(i64(a));
  }
}

// Layers are alike: the backend is asked once for each kind of node.
Workspace workspace_of(const Backend& backend) {
  auto known = std::make_shared<std::map<std::string, i64>>();
  const auto* tells = dynamic_cast<const TellsWorkspaces*>(&backend);
  return [known, tells, &backend](const Graph& g, const Node& n) {
    if (tells && !tells->may_need_workspace(n.op)) return i64{0};
    std::string key = n.op.print();
    for (Value v : n.ins) append_key(key, g.type(v));
    const auto [it, is_new] = known->emplace(std::move(key), 0);
    if (is_new) it->second = backend.workspace_bytes(g, n);
    return it->second;
  };
}

// Leaves room for memory outside the plan (memory_need.h), which is not known exactly here: f32 copies of the state,
// batches, buffers, libraries.
bool fits(const PlannedStep& step, const StepSpec& spec, const Backend& backend) {
  constexpr i64 kSpare = i64{512} << 20, kBesideCopies = i64{1} << 30;
  const i64 host = backend.host_bytes() ? 0 : step.plan.host_bytes;  // of the same memory, if there is one
  i64 elements = 0;
  for (const Parameter& p : step.parameters) elements += p.type.elements();
  const i64 copies = spec.copies_state ? 3 * size_of(DType::f32) * elements + kBesideCopies : 0;
  return step.plan.arena_bytes + host + backend.fixed_bytes() + copies + kSpare <= backend.available_bytes();
}

bool changed(const PlannedStep& step, std::string_view pass) {
  return std::ranges::any_of(step.passes, [&](const PassReport& r) { return r.name == pass && r.changed; });
}

}  // namespace

static PlannedStep plan_by(const StepSpec& spec, const Backend& backend, const Workspace& workspace,
                           const HasKernel& has_coded_kernel) {
  std::set<std::string> passes_off = backend.passes_off();
  passes_off.insert(spec.passes_off.begin(), spec.passes_off.end());
  const bool may_cast_once = spec.train && spec.quantize.config.on() && spec.micro_batches > 1;
  const auto plan = [&] {
    if (may_cast_once && spec.casts_once)
      if (PlannedStep step = StepPlanner(spec, workspace, passes_off, true, has_coded_kernel).plan();
          fits(step, spec, backend))
        return step;
    PlannedStep step = StepPlanner(spec, workspace, passes_off, false, has_coded_kernel).plan();
    step.casts_again = may_cast_once;
    return step;
  };
  // Several ranks need the same plan, although their memory may differ. Offload costs more than rematerialization.
  const bool saves_anyway = spec.mesh.num_ranks() > 1 || spec.offload.on;
  if (saves_anyway) passes_off.insert("keep-repeated");
  if (!spec.train || saves_anyway || passes_off.contains("rematerialize")) return plan();
  passes_off.insert("rematerialize");  // it costs time: use it only if memory does not suffice
  PlannedStep faster = plan();
  if (fits(faster, spec, backend)) return faster;
  if (passes_off.insert("keep-repeated").second && changed(faster, "keep-repeated")) {
    faster = plan();
    if (fits(faster, spec, backend)) return faster;
  }
  passes_off.erase("rematerialize");
  return plan();
}

// Fused casts take more memory: codes cannot be in the place of values that other threads still read. Ranks may decide
// differently about them, because results and transfers are the same.
PlannedStep plan_step(const StepSpec& spec, const Backend& backend) {
  const Workspace workspace = workspace_of(backend);
  PlannedStep step = plan_by(spec, backend, workspace,
                             [&backend](const Graph& g, const Node& n) { return backend.has_coded_kernel(g, n); });
  if (fits(step, spec, backend) || !changed(step, kFuseCasts)) return step;
  return plan_by(spec, backend, workspace, {});
}

}  // namespace megalith
