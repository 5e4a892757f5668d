#include "step/pipeline_step.h"

#include <algorithm>
#include <list>

#include "optim/update.h"
#include "passes/gather_ahead.h"
#include "passes/gradients.h"
#include "passes/stream_state.h"
#include "step/step.h"

namespace megalith {

namespace {

// Those of every number of micro-batches that steps have.
std::map<int, TaskList> tasks_of(const PipelineSpec& p) {
  std::map<int, TaskList> out;
  ScheduleSpec spec = p.schedule;
  out[spec.micro_batches] = schedule(spec, p.stage);
  for (const int n : p.micro_batches) spec.micro_batches = n, out[n] = schedule(spec, p.stage);
  return out;
}

// A piece's micro-batches begin and end in turn, so slots that are enough for one number of them are for a smaller.
int most_slots(const std::map<int, TaskList>& tasks, int chunk) {
  int most = 1;
  for (const auto& [n, list] : tasks) most = std::max(most, slots(list, chunk));
  return most;
}

std::vector<StagePiece> pieces_of(const PipelineSpec& p, const std::map<int, TaskList>& tasks) {
  std::vector<StagePiece> out;
  i64 layer = 0;
  for (int v = 0; v < int(p.layers.size()); ++v) {
    const i64 begin = layer;
    layer += p.layers[size_t(v)];
    if (v % p.schedule.stages != p.stage) continue;
    const int chunk = int(out.size());
    const std::string suffix = chunk ? fmt::format("/{}", chunk) : "";
    out.push_back({{begin, layer, v == 0, v + 1 == int(p.layers.size()), suffix}, most_slots(tasks, chunk)});
  }
  return out;
}

// Gradients' products and sums that only add to accumulators: what may wait while the gradient of the input goes on.
void split_weights(Graph& g) {
  for (Node& n : g.nodes) {
    if (n.phase != Phase::backward) continue;
    bool adds = !n.outs.empty();
    const auto aliases = n.op.aliases();
    for (size_t k = 0; k < n.outs.size(); ++k) {
      bool in_gradient = false;
      for (const Alias& a : aliases)
        in_gradient |= a.must && a.out == int(k) && g.info(n.ins[size_t(a.in)]).role == Role::gradient;
      adds &= in_gradient;
    }
    if (adds) n.phase = Phase::weights;
  }
}

class StagePlanner {
 public:
  StagePlanner(const StepSpec& spec, const Backend& backend) : spec_(spec), passes_off_(backend.passes_off()) {
    passes_off_.insert(spec.passes_off.begin(), spec.passes_off.end());
    PipelineStage stage{spec.pipeline, tasks_of(spec.pipeline), {}};
    stage.pieces = pieces_of(stage.spec, stage.tasks);
    out_.pipeline = std::move(stage);
  }

  PlannedStep plan(const std::function<i64(const Graph&, const Node&)>& workspace) {
    const std::vector<StagePiece>& pieces = out_.pipeline->pieces;
    if (spec_.train) {
      for (const StagePiece& piece : pieces) build_training(piece);
      out_.pools = pools_of(spec_, parameters_);
      begun_ = spec_.traffic.overlap_gradients && spec_.mesh.n(Axis::dp) * spec_.mesh.n(Axis::cp) > 1;
      std::vector<Pool> pools = out_.pools;  // not yet gathered
      for (size_t i = 0; i < pieces.size(); ++i) pools = add_training(pieces[i], built_[i], pools);
      add_update_program();
      add_state_programs(programs_, graphs_, out_, spec_, passes_off_);
    }
    std::vector<Pool> pools = out_.pools;
    if (spec_.evaluate)
      for (const StagePiece& piece : pieces) pools = add_evaluation(piece, pools);
    out_.plan = plan_memory(spec_.mesh, programs_, workspace);
    out_.parameters = unpacked(parameters_);
    out_.pieces.assign(graphs_.begin(), graphs_.end());
    return std::move(out_);
  }

 private:
  Graph& new_graph() {
    graphs_.emplace_back().mesh = spec_.mesh;
    return graphs_.back();
  }
  GptShape shape_of(const StagePiece& piece) const {
    GptShape shape = spec_.shape;
    shape.piece = piece;
    return shape;
  }

  struct Built {  // a piece's graph, before the passes
    Graph* graph;
    std::vector<Parameter> parameters;
    std::vector<Value> gradients;
    size_t first;  // of its parameters among the rank's
  };

  void build_training(const StagePiece& piece) {
    Graph& g = new_graph();
    Builder b(g);
    const Gpt gpt = build_gpt(b, spec_.model, shape_of(piece), spec_.style);
    std::map<Value, Value> cotangents;
    if (piece.last) {
      cotangents = backward(b, gpt.loss);
      add_loss_sums(b, gpt.loss, gpt.tokens);
    } else {
      const Type type = b.type(gpt.output).dual(b.grad_dtype(gpt.output));
      cotangents =
          backward(b, std::map<Value, Value>{{gpt.output, b.leaf({"dout" + piece.suffix, type, Role::input, true})}});
      g.outputs["out" + piece.suffix] = gpt.output;
    }
    if (!piece.first) g.outputs["din" + piece.suffix] = cotangents.at(gpt.input);
    const std::vector<Value> gradients = accumulate_gradients(b, gpt.parameters, cotangents);
    built_.push_back({&g, gpt.parameters, gradients, parameters_.size()});
    parameters_.insert(parameters_.end(), gpt.parameters.begin(), gpt.parameters.end());
  }

  // Sums over ranks of what is whole when the piece is through with its last micro-batch. Backwards go from the rank's
  // last piece to its first, so a pool is whole with the first of the pieces that have members in it.
  void begin_sums(const Built& piece) {
    Builder b(*piece.graph);
    b.set_phase(Phase::update), b.set_module("gradients");
    if (out_.pools.empty()) return begin_reduce(b, sums_of_each(b, piece.parameters, piece.gradients), spec_.traffic);
    std::vector<Value> gradients(parameters_.size());
    std::copy(piece.gradients.begin(), piece.gradients.end(), gradients.begin() + i64(piece.first));
    std::vector<Pool> whole;
    for (const Pool& pool : out_.pools)
      if (gradients[*std::min_element(pool.members.begin(), pool.members.end())]) whole.push_back(pool);
    begin_reduce(b, sums_of_pools(b, whole, gradients), spec_.traffic);
  }

  // A pool is gathered by the first piece that has members in it. Returns those of `pools` that others will gather.
  std::vector<Pool> gather(Graph& g, const std::vector<Pool>& pools) {
    Builder b(g);
    return gather_weights(b, pools, parameters_);
  }

  std::vector<Pool> add_training(const StagePiece& piece, const Built& built, const std::vector<Pool>& pools) {
    Graph& g = *built.graph;
    if (begun_) begin_sums(built);
    verify(g);
    std::vector<Pool> others = gather(g, pools);
    const std::string of = name_of(piece);
    rewrite(g, of, standard_passes(spec_.traffic.ring), passes_off_);
    if (spec_.traffic.overlap_tensor) rewrite(g, of, {{"overlap-tensor", overlap_tensor}});
    if (spec_.recompute.granularity != RecomputeConfig::Granularity::none)
      rewrite(g, of, {recompute_pass(spec_.recompute)});
    place_gathers(g, of);
    const bool apart = spec_.pipeline.schedule.split_weights;
    if (apart) split_weights(g);
    ProgramSpec forward{"forward" + piece.suffix, &g, {Phase::forward}, piece.slots};
    ProgramSpec back{"backward" + piece.suffix, &g, {Phase::backward}, piece.slots};
    if (!piece.last) forward.sent = {"out" + piece.suffix};
    if (!piece.first) back.sent = {"din" + piece.suffix};
    programs_.push_back(forward), programs_.push_back(back);
    if (apart) programs_.push_back({"weights" + piece.suffix, &g, {Phase::weights}, piece.slots});
    if (!begun_) return others;
    ProgramSpec last = programs_.back();
    last.name = "last-" + last.name, last.phases.push_back(Phase::update);
    programs_.push_back(last);
    return others;
  }

  void place_gathers(Graph& g, const std::string& of) {
    if (spec_.traffic.overlap_weights) rewrite(g, of, {{"gather-ahead", gather_ahead}});
  }

  static std::string name_of(const StagePiece& piece) {
    return fmt::format("layers [{}, {})", piece.first_layer, piece.last_layer);
  }
  void rewrite(Graph& g, const std::string& of, const std::vector<Pass>& passes,
               const std::set<std::string>& off = {}) {
    for (PassReport& report : run_passes(g, passes, off)) {
      report.of = of;
      out_.passes.push_back(std::move(report));
    }
  }

  // Of all the rank's pieces. The loss is the last stage's; the others' sums stay zero.
  void add_update_program() {
    Graph& g = new_graph();
    Builder b(g);
    Type sum{DType::f64, {}, whole(0)};
    sum.layout.partial = {Axis::dp, Axis::cp};
    GradientSums sums;
    for (Parameter& p : parameters_) {
      p.value = b.leaf(leaf_of(p, own_name, p.type, Role::parameter));
      sums.gradients.push_back(b.leaf(leaf_of(p, gradient_name, p.type.dual(b.grad_dtype(p.value)), Role::gradient)));
    }
    sums.loss = b.leaf({"loss_sum", sum, Role::scalar}), sums.tokens = b.leaf({"token_sum", sum, Role::scalar});
    add_update(b, parameters_, sums, spec_.optimizer, out_.pools, spec_.traffic,
               {.last = spec_.pipeline.stage + 1 == spec_.pipeline.schedule.stages, .begun = begun_});
    verify(g);
    rewrite(g, "update", standard_passes(), passes_off_);
    if (spec_.optimizer.optimizer_cpu_offload) rewrite(g, "update", {stream_state_pass(spec_.optimizer)});
    programs_.push_back({"update", &g, {Phase::update}});
  }

  std::vector<Pool> add_evaluation(const StagePiece& piece, const std::vector<Pool>& pools) {
    Graph& g = new_graph();
    Builder b(g);
    GptShape shape = shape_of(piece);
    shape.dropout = false;
    const Gpt gpt = build_gpt(b, spec_.model, shape, spec_.style);
    if (!spec_.train) parameters_.insert(parameters_.end(), gpt.parameters.begin(), gpt.parameters.end());
    ProgramSpec program{"evaluate" + piece.suffix, &g, {Phase::forward}, piece.slots};
    if (piece.last) {
      const Accumulators sums = add_loss_sums(b, gpt.loss, gpt.tokens);
      g.outputs["loss"] = reduced(b, sums.loss), g.outputs["tokens"] = reduced(b, sums.tokens);
    } else {
      g.outputs["out" + piece.suffix] = gpt.output;
      program.sent = {"out" + piece.suffix};
    }
    std::vector<Pool> others = gather(g, pools);
    const std::string of = "evaluation of " + name_of(piece);
    rewrite(g, of, standard_passes(spec_.traffic.ring), passes_off_);
    place_gathers(g, of);
    programs_.push_back(program);
    return others;
  }

  static std::string own_name(const std::string& name) { return name; }

  const StepSpec& spec_;
  std::set<std::string> passes_off_;
  std::list<Graph> graphs_;
  std::vector<ProgramSpec> programs_;
  std::vector<Built> built_;  // by chunk
  std::vector<Parameter> parameters_;
  bool begun_ = false;  // sums of gradients over ranks, by the pieces' last programs
  PlannedStep out_;
};

}  // namespace

PlannedStep plan_stage(const StepSpec& spec, const Backend& backend) {
  return StagePlanner(spec, backend).plan(workspace_of(backend));
}

}  // namespace megalith
