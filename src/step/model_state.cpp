#include "step/model_state.h"

#include <algorithm>
#include <cmath>

#include "mesh/block_copy.h"
#include "passes/gradients.h"

namespace megalith {

ModelState::ModelState(const PlannedStep& step, Interpreter& interpreter, const Coord& coord)
    : step_(step), interpreter_(interpreter), coord_(coord) {
  const auto add = [&](const std::string& prefix, const std::string& suffix) {
    for (const Parameter& p : step.parameters) {
      tensors_.push_back({prefix + p.name, p.true_shape(), &p, prefix.empty(), suffix});
      if (!place_of(tensors_.back()).leaf) tensors_.pop_back();
    }
  };
  add("", kMainSuffix);
  for (const Parameter& p : step.untrained) {
    check(can_be_untrained(p.type.dtype), "{} is not trained and {}: want f32, bf16, f64 or i32", p.name,
          name_of(p.type.dtype));
    tensors_.push_back({p.name, p.true_shape(), &p, true, "", false});
  }
  for (const std::string& suffix : step.states) add(fmt::format("optimizer.{}.", suffix), suffix);
  for (const StateTensor& t : tensors_) names_.insert(t.name);
}

void ModelState::run(const std::string& program) const {
  interpreter_.run(int(step_.plan.find_program(program) - step_.plan.programs.data()), true);
}

void ModelState::finish() {
  if (!step_.buckets.empty()) run("spread weights");
}

namespace {

bool lies_in(const Leaf& member, const Leaf& bucket) {
  return member.offset >= bucket.offset && member.offset + member.bytes <= bucket.offset + bucket.bytes;
}

}  // namespace

// Sharded optimizer state: the position of the parameter's gradient in its bucket, and this rank's part of the
// bucket.
ModelState::Place ModelState::place_of(const StateTensor& t) const {
  const Plan& plan = step_.plan;
  const Parameter& p = *t.parameter;
  const i64 elements = local_type(plan.mesh, p.type).elements();
  if (!t.is_trained) return {&plan.leaf(p.name), nullptr, 0, 0, elements};
  if (step_.buckets.empty()) {
    const Leaf *leaf = plan.find_leaf(fmt::format("{}.{}", p.name, t.suffix)),
               *weights = t.is_weight ? plan.find_leaf(p.name) : nullptr;
    return {leaf ? leaf : weights, leaf ? weights : nullptr, 0, 0, elements};
  }
  const Leaf& gradient = plan.leaf(gradient_name(p.name));
  for (const Bucket& bucket : step_.buckets) {
    const Leaf& whole = plan.leaf(bucket.name + ".grad");
    if (!lies_in(gradient, whole)) continue;
    const Leaf *leaf = plan.find_leaf(fmt::format("{}.{}", bucket.name, t.suffix)),
               *beside = t.is_weight && bucket.has_copy() ? &plan.leaf(bucket.name + ".shard") : nullptr;
    const i64 start = (gradient.offset - whole.offset) / size_of(whole.type.dtype);
    Run mine = index_runs(plan.mesh, bucket.shard.shape, bucket.shard.layout, coord_, bucket.cut_dim()).at(0);
    if (bucket.stacked) mine.start *= elements, mine.length *= elements;
    const i64 begin = std::max(start, mine.start), end = std::min(start + elements, mine.start + mine.length);
    return {leaf, beside, begin - mine.start, begin - start, std::max<i64>(0, end - begin)};
  }
  fail("{} lies in no bucket", p.name);
}

// Of elements of the local block those in rows that exist: rows are dim 0, so they come first.
std::vector<StatePiece> ModelState::boxes(const StateTensor& t, const Place& place) const {
  const Parameter& p = *t.parameter;
  Shape offset, shape;
  for (int d = 0; d < p.type.ndim(); ++d) {
    const std::vector<Run> runs = index_runs(step_.plan.mesh, p.type.shape, p.type.layout, coord_, d);
    check(runs.size() == 1, "{} is not one block on each rank", t.name);
    offset.push_back(runs[0].start);
    shape.push_back(std::clamp<i64>(t.shape[size_t(d)] - runs[0].start, 0, runs[0].length));
  }
  std::vector<StatePiece> out;
  const i64 n = std::min(place.count, megalith::count(shape) - place.first);
  i64 begin = place.begin;
  if (n > 0)
    for_boxes(shape, place.first, n, [&](const Shape& at, const Shape& box) {
      StatePiece& piece = out.emplace_back(StatePiece{place.leaf, place.beside, begin, at, box, t.dtype()});
      for (size_t d = 0; d < at.size(); ++d) piece.offset[d] += offset[d];
      begin += megalith::count(box);
    });
  return out;
}

std::vector<StatePiece> ModelState::pieces(const StateTensor& t) const { return boxes(t, place_of(t)); }

// The ranks that hold the same elements each save a stretch of them.
RowsToShare rows_to_share(const Type& local, i64 holders) {
  RowsToShare out{1, local.elements()};
  for (int d = 0; d < local.ndim() && out.rows < holders; ++d) out.rows *= local.dim(d), out.row /= local.dim(d);
  return out;
}

std::vector<StatePiece> ModelState::saved_pieces(const StateTensor& t, bool shared) const {
  if (counts_elsewhere(*t.parameter)) return {};
  const Mesh& mesh = step_.plan.mesh;
  const Type& type = t.parameter->type;
  const bool cut = t.is_trained && !step_.buckets.empty();  // then over all ranks that have copies of the weight
  i64 holders = 1, mine = 0;
  for (Axis a : groups::stage) {
    if (type.layout.state(a).is_split() || (cut && type.layout.state(a) == kCopy)) continue;
    mine = mine * mesh.n(a) + coord_[int(a)], holders *= mesh.n(a);
  }
  if (!shared && mine > 0) return {};
  if (!shared) holders = 1;
  Place place = place_of(t);
  const Type local = local_type(mesh, type);
  auto [rows, row] = rows_to_share(local, holders);
  if (cut) rows = place.count, row = 1;
  const i64 first = rows * mine / holders * row;
  place.count = rows * (mine + 1) / holders * row - first;
  place.first += first, place.begin += first;
  return boxes(t, place);
}

SplitView ModelState::split_view(const StatePiece& piece) const {
  if (piece.leaf->type.dtype != DType::u16) return {};
  const std::byte *bf16_half = interpreter_.host_view(*piece.beside), *low_half = interpreter_.host_view(*piece.leaf);
  return bf16_half && low_half ? SplitView{bf16_half + 2 * piece.begin, low_half + 2 * piece.begin} : SplitView{};
}

std::byte* ModelState::host_view(const StatePiece& piece) const {
  const DType dtype = piece.leaf->type.dtype;
  std::byte* leaf = dtype == piece.dtype ? interpreter_.host_view(*piece.leaf) : nullptr;
  return leaf ? leaf + piece.begin * size_of(dtype) : nullptr;
}

bool ModelState::on_host() const {
  return std::ranges::all_of(tensors_, [&](const StateTensor& t) {
    const Place place = place_of(t);
    return interpreter_.host_view(*place.leaf) && (!place.beside || interpreter_.host_view(*place.beside));
  });
}

bool ModelState::gives_values(const Leaf& gradient) const {
  return step_.plan.mesh.place(coord_, gradient.type.layout.partial) == 0;
}

bool ModelState::counts_elsewhere(const Parameter& p) const {
  return p.tied() && step_.plan.mesh.place(coord_, groups::pipeline) != p.stages.front();
}

double ModelState::squares() const {
  constexpr i64 kAtOnce = i64{1} << 20;
  double sum = 0;
  std::vector<float> values;
  for (const StateTensor& t : tensors_)
    for (const StatePiece& piece : t.is_weight&& t.is_trained ? saved_pieces(t, false) : std::vector<StatePiece>())
      for (i64 begin = 0, n = count(piece.shape); begin < n; begin += kAtOnce) {
        values.resize(size_t(std::min(kAtOnce, n - begin)));
        read(piece, begin, values);
        for (const float x : values) sum += double(x) * x;
      }
  return sum;
}

}  // namespace megalith
