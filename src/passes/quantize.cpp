#include "passes/quantize.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/rng.h"
#include "ops/cast_counts.h"
#include "ops/clear_rows.h"
#include "passes/amax_nodes.h"
#include "passes/linear_layers.h"

namespace megalith {

namespace {

class Quantizing {
 public:
  Quantizing(Graph& g, const QuantizeSpec& spec) : g_(g), spec_(spec), config_(spec.config) {}

  QuantizeReport run() {
    const std::vector<LinearLayer> layers = linear_layers(g_, config_.head != QuantizeConfig::Head::none);
    std::vector<Job> jobs;
    for (const LinearLayer& layer : layers)
      if (stays(layer)) {
        report_.others.push_back(layer.name);
      } else {
        check_sizes(config_, layer, g_.type(layer.weight).shape);
        slots_[&layer] = int(report_.layers++ * kTensorsOfLayer);
        trains_ |= !layer.data.empty();
        report_.counts.names.push_back(layer.name);
        if (config_.is_delayed()) add_state(layer);
        add_jobs(layer, jobs);
      }
    std::ranges::stable_sort(jobs, {}, &Job::node);  // so that codes are made before their first reader
    for (const Job& job : jobs) rewrite(job);
    if (config_.is_delayed() && trains_) collect_amax();
    if (spec_.counts && trains_) collect_counts();
    inserted_.place();
    return report_;
  }

 private:
  struct Coded {
    Value codes, scale_inv;
    Coding coding;
    Value amax;         // the scale follows from it; {}: from the amax of boxes
    Value counts = {};  // of lost values; {}: not counted
    i64 elements = 0;   // values that a rank casts
  };
  struct Job {  // a product to rewrite
    const LinearLayer* layer;
    int node;
    Product product;
  };

  bool stays(const LinearLayer& layer) const {
    if (!config_.ends_in_bf16 || layer.number < 0) return false;
    return layer.number < config_.layers_at_start || layer.number >= spec_.num_layers - config_.layers_at_end;
  }

  void add_jobs(const LinearLayer& layer, std::vector<Job>& jobs) const {
    if (!is_head_weight(layer.name) || config_.head == QuantizeConfig::Head::all)
      for (const int i : layer.forward) jobs.push_back({&layer, i, Product::forward});
    for (const int i : layer.data) jobs.push_back({&layer, i, Product::data});
    if (config_.weight_gradients)
      for (const int i : layer.gradient) jobs.push_back({&layer, i, Product::weight});
  }

  void rewrite(const Job& job) {
    switch (job.product) {
      case Product::forward:
        product(job, Tensor::input, Tensor::weight);
        if (config_.weight_gradients) code_for_gradient(*job.layer, job.node);
        return;
      case Product::data:
        return product(job, Tensor::gradient, Tensor::weight);
      case Product::weight:
        return product(job, Tensor::gradient, Tensor::input);
    }
  }

  // The weight gradient's codes of x are computed where x is, so codes are kept instead of values.
  void code_for_gradient(const LinearLayer& layer, int forward) {
    const Value x = inputs_.at(forward);
    for (const int i : layer.gradient)
      if (const Node& n = g_.nodes[size_t(i)]; n.ins[1] == x) {
        coded(layer, layer.grouped ? cleared(x, n.ins[2], plain_product(n)->filled, forward) : x, Product::weight,
              Tensor::input, forward);
      }
  }

  void product(const Job& job, Tensor a, Tensor b) {
    const Node n = g_.nodes[size_t(job.node)];
    const PlainProduct plain = *plain_product(n);
    const auto operand = [&](int i, Tensor t) {
      const bool rows = plain.grouped && t != Tensor::weight;
      const Value v = rows ? cleared(n.ins[size_t(i)], n.ins[2], plain.filled, job.node) : n.ins[size_t(i)];
      return coded(*job.layer, v, job.product, t, job.node);
    };
    const Coded x = operand(0, a), w = operand(1, b);
    std::vector<Value> ins = {x.codes, x.scale_inv, w.codes, w.scale_inv};
    if (plain.grouped) ins.push_back(n.ins[2]);
    AnyOp op = of_codes(plain, x.coding, w.coding, job.product);
    const Type type = op.infer(infer_args(g_, ins, n.phase)).at(0), &was = g_.type(n.outs[0]);
    if (type != was)
      fail("{}: the product of codes is {}, of values {}", job.layer->name, to_string(type), to_string(was));
    inputs_[job.node] = n.ins[0];
    g_.nodes[size_t(job.node)].op = std::move(op), g_.nodes[size_t(job.node)].ins = ins;
    ++report_.products;
  }
  // Experts' rows with zeros behind the last one, so that the amax and the counts are of rows that exist.
  Value cleared(Value rows, Value ends, double filled, int at) {
    Value& out = cleared_[rows];
    if (!out) out = add(ClearRows{filled}, {rows, ends}, at).at(0), filled_[out] = filled;
    return out;
  }

  // The values that a rank casts; of experts' rows their average number.
  i64 elements_of(Value x) const {
    const double filled = filled_.contains(x) ? filled_.at(x) : 1;
    return std::llround(filled * double(local_type(g_.mesh, g_.type(x)).elements()));
  }

  // The codes of a value for a product, inserted before node `at` unless they exist. A weight is cast once in each
  // phase: codes of the forward are not kept for the backward.
  Coded coded(const LinearLayer& layer, Value v, Product product, Tensor t, int at) {
    try {
      const Coded out = made(layer, v, product, t, at);
      const int slot = slots_.at(&layer) + int(t);
      if (config_.is_delayed()) seen_[slot].insert(out.amax);
      // The forward has cast weights before, and rows of experts that the backward computes again.
      const bool again = t != Tensor::gradient && g_.nodes[size_t(at)].phase == Phase::backward;
      if (out.counts && !again) counted_[slot][out.counts] = out.elements;
      return out;
    } catch (const Error& e) {
      fail("{} by the recipe {}: {}: give sizes that it divides on each rank, fewer ranks, or --fp8-recipe tensorwise",
           layer.name, name_of_recipe(config_), e.what());
    }
  }
  Coded made(const LinearLayer& layer, Value v, Product product, Tensor t, int at) {
    const Coding coding = coding_of(config_, layer.spec, product, t, g_.mesh, g_.type(v));
    const Phase phase = g_.nodes[size_t(at)].phase;
    const Key key{v, coding, t == Tensor::weight ? phase : Phase::forward};
    if (const auto it = made_.find(key); it != made_.end()) return it->second;
    if (t != Tensor::weight && reads_amax(coding.scaling) && !coding.rotated && coding.scaling != Scaling::nv)
      if (const Relayout* gather = gather_of(v)) {  // of tokens: ranks move codes
        Coded out = made(layer, source_of(v), product, t, at);
        out.codes = moved(out.codes, gather->axes, kCopy, at);
        out.scale_inv = known_as(out.scale_inv, gather->axes, grid_of(g_.mesh, g_.type(v), coding.box, true), at);
        return made_[key] = out;
      }
    const Value x = coding.rotated ? add(RotateTokens{}, {v}, at).at(0) : v;
    std::vector<Value> ins = {x};
    const bool gives_amax = coding.scaling == Scaling::kept && knows_amax(x, coding.box);
    const Shape& box = coding.scaling == Scaling::nv ? tensor_box(g_.mesh, g_.type(x)) : coding.box;
    const bool is_kept = coding.scaling == Scaling::kept;
    Value seen;
    if (reads_amax(coding.scaling) && !gives_amax) {
      seen = amax_.own(x, box, at);
      ins.push_back(is_kept ? amax_.shared(seen, states_.at(&layer), i64(t), at) : amax_.known(seen, at));
    }
    if (is_kept) ins.push_back(states_.at(&layer));
    if (coding.stochastic) ins.push_back(sample_numbers());
    const u64 seed = coding.stochastic ? mix(spec_.seed, hash_name(layer.name + (coding.rotated ? " dw" : " dx"))) : 0;
    Quantize op{coding.format, coding.scaling, coding.box, i64(t), coding.stochastic, seed};
    op.gives_amax = gives_amax;
    // Weights that ranks gather as codes have no cast here.
    op.counts = spec_.counts && trains_ && !(t == Tensor::weight && config_.gather_codes);
    const std::vector<Value> outs = add(op, ins, at);
    if (gives_amax) seen = amax_.given(x, outs[2]);
    return made_[key] = {outs[0],       outs[1], coding, seen, op.counts ? outs[size_t(op.counts_at())] : Value{},
                         elements_of(x)};
  }

  // Whether a rank has the full tensor. Then the cast by a kept scale returns the amax of its input.
  bool knows_amax(Value x, const Shape& box) const {
    return grid_of(g_.mesh, g_.type(x), box, true).layout.max.empty();
  }

  Value moved(Value v, AxisSet axes, megalith::State to, int at, Order order = Order::block) {
    return add(inserted_.relayout(v, axes, to, order), {v}, at).at(0);
  }

  // A scale as the grid of gathered codes has it: on all ranks, and cut by the axes of one rank that cut them.
  Value known_as(Value scale, AxisSet axes, const Type& grid, int at) {
    scale = moved(scale, axes, kCopy, at);
    for (int d = 0; d < grid.ndim(); ++d)
      if (const AxisList& cuts = grid.layout.dims[size_t(d)]; g_.type(scale).layout.dims[size_t(d)] != cuts)
        scale = moved(scale, cuts.axes(), split(d), at, cuts[0].order);
    return scale;
  }

  Value source_of(Value v) const { return g_.nodes[size_t(g_.info(v).node)].ins[0]; }
  // The all-gather of v in a tensor-parallel group, after which all of its ranks have v; else nullptr.
  const Relayout* gather_of(Value v) const {
    const int made_by = g_.info(v).node;
    if (made_by < 0 || made_by >= int(g_.nodes.size())) return nullptr;
    const auto* r = g_.nodes[size_t(made_by)].op.get_if<Relayout>();
    const bool gathers = r && r->transfer == Transfer::all_gather && r->to == kCopy && r->lane == 0;
    return gathers && groups::tensor.has(r->axes) ? r : nullptr;
  }

  void add_state(const LinearLayer& layer) {
    ScaleStates& states = report_.states;
    states.type = {DType::f32, {1 + config_.amax_history_len, kTensorsOfLayer}, whole(2)};
    states.names.push_back(layer.name.substr(0, layer.name.rfind('.')) + std::string(kScaleState));
    states_[&layer] = add_leaf(states.names.back(), states.type, Role::cache);
  }

  Value add_leaf(const std::string& name, const Type& type, Role role) {
    g_.values.push_back({.type = type, .name = name, .role = role});
    return {int(g_.values.size()) - 1};
  }

  // The amax values of a training micro-batch, after its backward. (Evaluation does not record them.)
  void collect_amax() {
    ScaleStates& states = report_.states;
    states.seen_name = "fp8_amax" + spec_.suffix, states.seen_type = seen_type(g_.mesh, states.names.size());
    CollectAmax op;
    std::vector<Value> ins = {add_leaf(states.seen_name, states.seen_type, Role::scalar)};
    for (const auto& [slot, amaxes] : seen_)
      for (const Value amax : amaxes) op.places.push_back(slot), ins.push_back(amax);
    states.seen = collected(op, ins, states.seen_type);
  }

  void collect_counts() {
    CastCounts& counts = report_.counts;
    counts.seen_name = "fp8_counts" + spec_.suffix, counts.seen_type = counts_type(g_.mesh, counts.names.size());
    CollectCounts op;
    std::vector<Value> ins = {add_leaf(counts.seen_name, counts.seen_type, Role::scalar)};
    for (const auto& [slot, casts] : counted_)
      for (const auto& [cast, elements] : casts)
        op.places.push_back(slot), op.elements.push_back(elements), ins.push_back(cast);
    counts.seen = collected(op, ins, counts.seen_type);
  }

  // Adds an op after the backward that collects values of casts. Returns its output.
  Value collected(AnyOp op, const std::vector<Value>& ins, const Type& type) {
    int last = 0;
    for (int i = 0; i < int(g_.nodes.size()); ++i)
      if (g_.nodes[size_t(i)].phase == Phase::backward) last = i;
    const Value out = add_leaf("", type, Role::activation);
    inserted_.behind(last, {std::move(op), ins, {out}, Phase::backward, {"amax"}});
    return out;
  }

  Value sample_numbers() const {
    const Value rows = g_.find_leaf("rows" + spec_.suffix);
    check(bool(rows), "no sample numbers among the data, which key stochastic rounding");
    return rows;
  }

  std::vector<Value> add(AnyOp op, const std::vector<Value>& ins, int at) {
    return inserted_.before(at, std::move(op), ins);
  }

  struct Key {
    Value v;
    Coding coding;
    Phase phase;
    auto operator<=>(const Key&) const = default;
  };

  Graph& g_;
  const QuantizeSpec& spec_;
  const QuantizeConfig& config_;
  std::map<Key, Coded> made_;
  std::map<int, Value> inputs_;     // of products before the rewrite
  std::map<Value, Value> cleared_;  // by rows
  std::map<Value, double> filled_;  // of cleared rows, the average filled fraction
  InsertedNodes inserted_{g_};
  AmaxNodes amax_{g_, inserted_};
  std::map<const LinearLayer*, Value> states_;   // leaves of delayed scaling
  std::map<const LinearLayer*, int> slots_;      // slot of x; the slots of w and dy follow
  std::map<int, std::set<Value>> seen_;          // amax values by slot
  std::map<int, std::map<Value, i64>> counted_;  // by slot: counts of each cast, with its values of a rank
  bool trains_ = false;
  QuantizeReport report_;
};

}  // namespace

QuantizeReport quantize(Graph& g, const QuantizeSpec& spec) { return Quantizing(g, spec).run(); }

}  // namespace megalith
