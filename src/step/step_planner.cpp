#include "step/step_planner.h"

#include <algorithm>

#include "graph/relayout_op.h"
#include "optim/norms.h"
#include "optim/offload.h"
#include "optim/optimizer.h"
#include "passes/gather_ahead.h"
#include "passes/stream_state.h"
#include "plan/unverified.h"
#include "step/split_weights.h"

namespace megalith {

namespace {

// The update gathers the bucket that the forward reads first, while it updates the others: nothing precedes that reader
// in the forward. A bucket of one rank, for experts that no other rank has, is only copied.
std::vector<Bucket> buckets_of(const StepSpec& spec, const std::vector<Parameter>& parameters) {
  const bool cut = spec.shard_optimizer && spec.mesh.n(groups::data_context) > 1;
  if (!cut) return {};
  std::vector<Bucket> buckets =
      make_buckets(spec.mesh, parameters, spec.bucket_size, spec.optimizer, spec.mode.precision,
                   spec.quantize.config.gather_codes ? is_linear_weight : nullptr);
  place_on_host(buckets, spec.optimizer);
  for (Bucket& bucket : buckets)
    bucket.late = bucket.coded || (spec.traffic.overlap_weights && spec.mesh.n(bucket.reduced) > 1 &&
                                   std::ranges::find(bucket.members, 0u) == bucket.members.end());
  return buckets;
}

std::string own_name(const std::string& name) { return name; }

}  // namespace

StepPlanner::StepPlanner(const StepSpec& spec, const Workspace& workspace, const std::set<std::string>& passes_off,
                         bool casts_once, const HasKernel& has_coded_kernel)
    : spec_(spec),
      workspace_(workspace),
      passes_off_(passes_off),
      casts_once_(casts_once),
      has_coded_kernel_(has_coded_kernel) {
  out_.inputs = spec.model->inputs(), out_.terms = spec.model->terms();
  if (spec.train) out_.loss_scaling = spec.loss_scaling;
  if (spec.train) out_.tallies = tally_places(out_.terms, spec.model->tallies(spec.mode));
  if (spec.pipeline.schedule.stages > 1) {
    out_.pipeline = stage_of(spec.pipeline);
    for (StagePiece& piece : out_.pipeline->pieces)
      piece.receives = spec.model->messages(piece.first), piece.sends = spec.model->messages(piece.last);
  }
  pieces_ = in_pipeline() ? out_.pipeline->pieces : std::vector<StagePiece>{{spec.model->whole()}};
  begun_ = in_pipeline() && spec.traffic.overlap_gradients && spec.mesh.n(groups::data_context) > 1;
}

PlannedStep StepPlanner::plan() {
  if (spec_.train) {
    for (const StagePiece& piece : pieces_) build_training(piece);
    out_.buckets = buckets_of(spec_, parameters_);
    std::vector<Bucket> buckets = out_.buckets;  // not yet gathered
    for (const TrainedPiece& built : built_) {
      if (begun_) begin_sums(built);
      buckets = gather(*built.graph, buckets);
      if (!in_pipeline()) add_update_to(*built.graph, built.parameters, built.sums, {built.tally});
      if (verifies()) verify(*built.graph);
      rewrite_training(built);
      add_programs(built);
    }
    if (in_pipeline()) add_update_program();
    add_state_programs();
  }
  std::vector<Bucket> buckets = out_.buckets;
  if (spec_.evaluate)
    for (const StagePiece& piece : pieces_) add_evaluation(piece, buckets);
  out_.plan = (verifies() ? plan_memory : plan_memory_unverified)(spec_.mesh, programs_, workspace_);
  out_.parameters = unpacked(parameters_);
  if (spec_.train) out_.states = state_suffixes(spec_.optimizer, out_.parameters);
  return std::move(out_);
}

Built StepPlanner::build_piece(Builder& b, const StagePiece& piece, const BuildMode& mode) const {
  Built out = spec_.model->build(b, piece, mode);
  if (!in_pipeline()) return out;
  check(int(out.received.size()) == piece.receives && int(out.sent.size()) == piece.sends,
        "{} receives {} values and sends {}: the model says {} and {}", spec_.model->describe(piece),
        out.received.size(), out.sent.size(), piece.receives, piece.sends);
  for (Parameter& p : out.parameters) {
    p.stages = stages_of(spec_.pipeline, p.blocks);
    // Backwards go from the rank's last piece to its first.
    p.is_begun = std::ranges::any_of(
        pieces_, [&](const StagePiece& other) { return other.first > piece.first && other.holds(p.blocks); });
  }
  return out;
}

Graph& StepPlanner::new_graph() {
  Graph& g = out_.graphs.emplace_back();
  g.mesh = spec_.mesh;
  return g;
}

void StepPlanner::build_training(const StagePiece& piece) {
  Graph& g = new_graph();
  Builder b(g);
  b.sum_gradients_in(spec_.mode.precision.gradients);
  const Built model = build_piece(b, piece, spec_.mode);
  const bool has_loss = !piece.sends;
  std::map<Value, Value> roots = roots_of(b, model.terms, has_loss);
  if (spec_.loss_scaling && !roots.empty()) scale_roots(b, roots, *spec_.loss_scaling);
  for (size_t i = 0; i < model.sent.size(); ++i) {
    const Value v = model.sent[i];
    const Type type = b.type(v).dual(b.grad_dtype(v));
    roots[v] = b.leaf({message_name("dout", i) + piece.suffix, type, Role::input, true});
    g.outputs[message_name("out", i) + piece.suffix] = v;
  }
  const std::map<Value, Value> cotangents = backward(b, roots);
  for (size_t i = 0; i < model.received.size(); ++i)
    g.outputs[message_name("din", i) + piece.suffix] = cotangents.at(model.received[i]);
  Accumulators sums;
  if (has_loss) sums.loss = accumulate_loss(b, model.terms.at(0));
  sums.gradients = accumulate_gradients(b, model.parameters, cotangents, spec_.mode.precision);
  if (spec_.keep_training_outputs) g.outputs.insert(model.outputs.begin(), model.outputs.end());
  update_untrained(b, model.untrained);
  keep_untrained(model.untrained);
  const Value tally = accumulate_tallies(b, out_.tallies, model, has_loss, piece.suffix);
  built_.push_back({piece, &g, {}, {{}, sums.loss}, tally, parameters_.size()});
  for (size_t i = 0; i < model.parameters.size(); ++i) {
    if (!add_parameter(model.parameters[i])) continue;
    built_.back().parameters.push_back(model.parameters[i]);
    built_.back().sums.gradients.push_back(sums.gradients[i]);
  }
}

// If several model pieces of the rank hold a parameter, the first one counts: its backward adds to the gradient last.
bool StepPlanner::add_parameter(const Parameter& p) {
  const bool is_new = std::ranges::find(parameters_, p.name, &Parameter::name) == parameters_.end();
  if (is_new) parameters_.push_back(p);
  return is_new;
}

void StepPlanner::keep_untrained(const std::vector<Untrained>& untrained) {
  for (const Untrained& u : untrained) out_.untrained.push_back(u.tensor);
  untrained_.insert(untrained_.end(), untrained.begin(), untrained.end());
}

// Sums over ranks of gradients that are complete after the piece's last micro-batch. Backwards run from the rank's last
// piece to its first. So a bucket is complete with the first piece that has members in it.
void StepPlanner::begin_sums(const TrainedPiece& built) {
  Builder b(*built.graph);
  b.set_phase(Phase::update), b.set_module("gradients");
  const std::vector<Value>& mine = built.sums.gradients;
  const Precision& precision = spec_.mode.precision;
  if (out_.buckets.empty()) return begin_reduce(b, sums_of_each(b, built.parameters, mine, precision));
  std::vector<Value> gradients(parameters_.size());
  std::copy(mine.begin(), mine.end(), gradients.begin() + i64(built.first));
  std::vector<Bucket> whole;
  for (const Bucket& bucket : out_.buckets)
    if (gradients[*std::min_element(bucket.members.begin(), bucket.members.end())]) whole.push_back(bucket);
  begin_reduce(b, sums_of_buckets(b, whole, gradients, precision));
}

// A bucket is gathered by the first piece that has members in it. Returns those of `buckets` that others will gather.
std::vector<Bucket> StepPlanner::gather(Graph& g, const std::vector<Bucket>& buckets) {
  Builder b(g);
  return gather_weights(b, buckets, parameters_);
}

void StepPlanner::add_update_to(Graph& g, const std::vector<Parameter>& parameters, const Accumulators& sums,
                                const std::vector<Value>& tallies) {
  Builder b(g);
  add_update(b, parameters, {sums.gradients, sums.loss.sum, sums.loss.weight}, spec_.optimizer, spec_.mode.precision,
             out_.buckets, spec_.traffic, {spec_.pipeline.stage, begun_}, spec_.loss_scaling, spec_.counts_nonzeros);
  if (out_.tallies.empty()) return;
  const Value total = g.outputs[kTally] = total_of_tallies(b, tallies);
  update_at_end(b, untrained_, out_.tallies, total, g.outputs.at("step"));
}

void StepPlanner::add_update_program() {
  Graph& g = new_graph();
  Builder b(g);
  b.set_phase(Phase::update);
  std::vector<Parameter> parameters = parameters_;
  Accumulators sums;
  for (Parameter& p : parameters) {
    p.value = b.leaf(leaf_of(p, own_name, p.type, Role::parameter));
    sums.gradients.push_back(gradient_leaf(b, p, spec_.mode.precision));
  }
  sums.loss = loss_leaves(b, groups::data_context);
  std::vector<Value> tallies;
  for (const StagePiece& piece : pieces_) tallies.push_back(tally_leaf(b, out_.tallies, piece.suffix));
  add_update_to(g, parameters, sums, tallies);
  for (const ScaleStates& states : out_.scales)
    end_scales(b, states, b.leaf({states.seen_name, states.seen_type, Role::scalar}));
  for (const CastCounts& counts : out_.counts)
    tell_counts(b, counts.seen_name, b.leaf({counts.seen_name, counts.seen_type, Role::scalar}));
  if (verifies()) verify(g);
  run(g, "update", standard_passes(), passes_off_);
  if (spec_.optimizer.optimizer_cpu_offload) run(g, "update", {stream_state_pass(spec_.optimizer)});
  programs_.push_back({"update", &g, {Phase::update}});
}

void StepPlanner::rewrite_training(const TrainedPiece& built) {
  Graph& g = *built.graph;
  const std::string of = in_pipeline() ? spec_.model->describe(built.piece) : "";
  const QuantizeReport quantized = quantize_products(g, of, built.piece.suffix);
  out_.quantized += quantized;
  keep_scales(quantized.states);
  if (quantized.states.seen && !in_pipeline()) {
    Builder b(g);
    end_scales(b, quantized.states, quantized.states.seen);
  }
  end_counts(g, quantized.counts);
  gather_as_codes(g, of);
  run(g, of, standard_passes(spec_.traffic.ring), passes_off_);
  if (spec_.traffic.overlap_experts) run(g, of, {{"overlap-experts", overlap_experts}});
  run(g, of, {{"overlap-dispatch", overlap_dispatch}});
  if (spec_.traffic.overlap_tensor) run(g, of, {{"overlap-tensor", overlap_tensor}});
  if (!in_pipeline() && spec_.optimizer.optimizer_cpu_offload) run(g, of, {stream_state_pass(spec_.optimizer)});
  if (spec_.recompute.granularity != RecomputeConfig::Granularity::none) {
    out_.unrecomputed_bytes = activation_bytes(g);
    run(g, of, {recompute_pass(spec_.recompute)});
    // Recomputed codes may need other orders than the original ones.
    if (spec_.quantize.config.on() && !passes_off_.contains("transpose-codes"))
      run(g, of, {{"transpose-codes", transpose_codes}});
  }
  if (spec_.offload.on) offload(g, of, built.piece.suffix);
  if (casts_once_) run(g, of, {{"cast-once", cast_once}});
  fuse_casts_of(g, of);
  if (spec_.traffic.overlap_tensor)
    run(g, of, {{"overlap-products", [](Graph& graph) { return overlap_products(graph); }}});
  if (gathers_ahead()) run(g, of, {{"gather-ahead", gather_ahead}});  // when no other pass moves readers
}

void StepPlanner::fuse_casts_of(Graph& g, const std::string& of) {
  if (!spec_.quantize.config.on() || !has_coded_kernel_) return;
  run(g, of, {{kFuseCasts, [&](Graph& graph) { return fuse_casts(graph, has_coded_kernel_); }}});
}

void StepPlanner::offload(Graph& g, const std::string& of, const std::string& suffix) {
  out_.unoffloaded_bytes = activation_bytes(g);
  const OffloadSpec spec{spec_.offload, suffix, in_pipeline()};
  run(g, of, {{"offload-activations", [&](Graph& graph) {
                 const OffloadReport report = offload_activations(graph, spec);
                 out_.offloaded += report;
                 return !report.bytes.empty();
               }}});
}

// The activations' bytes of a step without a pipeline, for the current graph; 0 with a pipeline.
i64 StepPlanner::activation_bytes(const Graph& g) const {
  if (in_pipeline()) return 0;
  const Plan plan = plan_memory(spec_.mesh, {{"micro-batch", &g, {Phase::forward, Phase::backward}}}, workspace_);
  return plan.programs[0].activation_bytes;
}

void StepPlanner::add_programs(const TrainedPiece& built) {
  Graph* g = built.graph;
  const StagePiece& piece = built.piece;
  if (!in_pipeline()) {
    programs_.push_back({"micro-batch", g, {Phase::forward, Phase::backward}});
    programs_.push_back({"last-micro-batch", g, {Phase::forward, Phase::backward, Phase::update}});
    return;
  }
  const bool apart = spec_.pipeline.schedule.split_weights;
  if (apart) split_weights(*g);
  ProgramSpec forward{"forward" + piece.suffix, g, {Phase::forward}, piece.slots};
  ProgramSpec back{"backward" + piece.suffix, g, {Phase::backward}, piece.slots};
  forward.sent = messages("out", piece.sends, piece), back.sent = messages("din", piece.receives, piece);
  programs_.push_back(forward), programs_.push_back(back);
  if (apart) programs_.push_back({"weights" + piece.suffix, g, {Phase::weights}, piece.slots});
  if (!begun_) return;
  ProgramSpec last = programs_.back();
  last.name = "last-" + last.name, last.phases.push_back(Phase::update);
  programs_.push_back(last);
}

void StepPlanner::add_state_programs() {
  const auto add = [&](const std::string& name, Graph graph) {
    run_passes(out_.graphs.emplace_back(std::move(graph)), standard_passes(), passes_off_);
    programs_.push_back({name, &out_.graphs.back(), {Phase::update}});
  };
  if (spec_.norms.any())
    add(kNorms, norms(spec_.mesh, parameters_, out_.buckets, spec_.optimizer, spec_.mode.precision,
                      spec_.pipeline.stage, spec_.norms));
  if (out_.buckets.empty()) return;
  if (out_.buckets[0].starts_in_gradients()) add("take main", take_main(spec_.mesh, out_.buckets));
  add("spread weights", spread_weights(spec_.mesh, out_.buckets));
}

void StepPlanner::run(Graph& g, const std::string& of, const std::vector<Pass>& passes,
                      const std::set<std::string>& off) {
  std::set<std::string> all_off = off;
  if (!verifies()) all_off.insert("verify");
  for (PassReport& report : run_passes(g, passes, all_off)) {
    report.of = of;
    out_.passes.push_back(std::move(report));
  }
}

}  // namespace megalith
