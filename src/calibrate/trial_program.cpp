#include "calibrate/trial_program.h"

#include "calibrate/timed_step.h"
#include "graph/relayout_op.h"
#include "ops/all.h"

namespace megalith {

namespace {

constexpr AxisSet kAxes2 = groups::kv_heads;

struct Side {
  Type type;  // before
  State to;
};
Side side_of(const Moved& m, int group) {
  const i64 elements = m.bytes / size_of(DType::bf16) / (group * 64) * (group * 64);
  if (m.transfer == Transfer::all_to_all) {  // `bytes`: on each rank
    Type t{DType::bf16, {group, elements}, whole(2)};
    t.layout.dims[0] = {{kAxes2}};
    return {t, split(1)};
  }
  Type t{DType::bf16, {elements}, whole(1)};
  if (m.transfer == Transfer::all_gather)
    t.layout.dims[0] = {{kAxes2}};
  else
    t.layout.partial = {kAxes2};
  return {t, m.transfer == Transfer::reduce_scatter ? split(0) : kSame};
}

void add_kernel(Builder& b, Kernel kernel, const LinkTrialSizes& s) {
  if (kernel == Kernel::product) {
    const Type square{DType::bf16, {s.product, s.product}, whole(2)};
    b.add1(Einsum{"mk,nk->mn", DType::bf16}, {b.leaf({"a", square}), b.leaf({"b", square})});
  } else if (kernel == Kernel::attention) {
    const i64 groups = 8, each = 4, d = 128;
    const Type q{DType::bf16, {s.sequence, 1, groups, each, d}, whole(5)};
    const Type k{DType::bf16, {s.sequence, 1, groups, d}, whole(4)};
    b.add(Attention{{.scale = 0.088}},
          {b.leaf({"q", q}), b.leaf({"k", k}), b.leaf({"v", k}), b.leaf({"rows", {DType::i64, {1}, whole(1)}})});
  } else {
    const Type x{DType::bf16, {s.elements / 1024, 1024}, whole(2)};
    b.add1(AddGrad{2}, {b.leaf({"x", x}), b.leaf({"y", x})});
  }
}

}  // namespace

Mesh mesh_of_groups(int ranks, int group) { return make_mesh({.dp = ranks / group, .tp_kv = group}); }

Graph trial_graph(const Mesh& mesh, const Moved& moved, Kernel kernel, int kernels, const LinkTrialSizes& sizes,
                  int rounds) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  Value leaf;
  const bool moves = moved.transfer != Transfer::none;
  const Side side = moves ? side_of(moved, mesh.n(kAxes2)) : Side{};
  if (moves) leaf = b.leaf({fmt::format("{} of {}", name_of(moved.transfer), moved.bytes), side.type});
  for (int round = 0; round < rounds; ++round) {
    std::vector<Value> begun;
    for (int i = 0; moves && i < moved.times; ++i) begun.push_back(b.begin_relayout(leaf, kAxes2, side.to, moved.lane));
    for (int i = 0; i < kernels; ++i) add_kernel(b, kernel, sizes);
    for (const Value v : begun) b.wait(v);
  }
  return g;
}

Trial::Trial(const Backend& backend, Ranks& ranks, const Mesh& mesh, const std::vector<Graph>& graphs)
    : ranks_(ranks), gpu_(backend.host_bytes().has_value()) {
  std::vector<ProgramSpec> programs;
  for (const Graph& g : graphs) programs.push_back({fmt::format("{}", programs.size()), &g, {Phase::forward}});
  plan_ = plan_memory(mesh, programs, [&](const Graph& g, const Node& n) { return backend.workspace_bytes(g, n); });
  interpreter_ = backend.make_interpreter(plan_, mesh.coord(ranks.rank()));
  for (const Leaf& l : plan_.leaves) {  // zeros would need less power
    if (l.type.dtype == DType::bf16) interpreter_->draw(l, {.key = 7, .std = 1});
    if (l.type.dtype == DType::i64) {
      const std::vector<std::byte> zeros(size_t(l.bytes));
      interpreter_->write(l, zeros.data());
    }
  }
}

std::vector<double> Trial::seconds(int looks, int warm) {
  std::vector<std::vector<double>> seen(plan_.programs.size());
  interpreter_->busy_seconds();
  for (int look = -warm; look < looks; ++look)
    for (size_t p = 0; p < seen.size(); ++p) {
      ranks_.barrier();
      interpreter_->run(int(p), true);
      const double s = interpreter_->busy_seconds();
      if (look >= 0) seen[p].push_back(s);
    }
  std::vector<double> out;
  for (const std::vector<double>& s : seen) out.push_back(largest_of(ranks_, typical(s, gpu_)));
  return out;
}

}  // namespace megalith
