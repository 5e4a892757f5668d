#include "calibrate/long_attention.h"

#include "base/log.h"
#include "calibrate/timed_step.h"
#include "exec/sim/kernel_kind.h"
#include "ops/all.h"

namespace megalith {

namespace {

Plan plan_of(i64 length, const Backend& backend) {
  constexpr i64 kGroups = 8, kEach = 4, kHead = 128;
  Graph g;
  Builder b(g);
  const Type q{DType::bf16, {length, 1, kGroups, kEach, kHead}, whole(5)};
  const Type k{DType::bf16, {length, 1, kGroups, kHead}, whole(4)};
  const AttentionSpec at{.scale = 0.088};
  const Value queries = b.leaf({"q", q}), keys = b.leaf({"k", k}), values = b.leaf({"v", k});
  const Value rows = b.leaf({"rows", {DType::i64, {1}, whole(1)}}), dy = b.leaf({"do", q});
  const std::vector<Value> o = b.add(Attention{at}, {queries, keys, values, rows});
  b.add(AttentionGrad{at}, {dy, queries, keys, values, o[0], o[1], rows});
  return plan_memory(g.mesh, {{"attention", &g, {Phase::forward}}},
                     [&](const Graph& graph, const Node& n) { return backend.workspace_bytes(graph, n); });
}

}  // namespace

std::vector<KernelFact> time_long_attention(const Backend& backend) {
  constexpr int kLooks = 5;
  std::vector<KernelFact> out;
  if (!backend.host_bytes()) return out;
  for (const i64 length : {16384, 65536}) {
    const Plan plan = plan_of(length, backend);
    const auto interpreter = backend.make_interpreter(plan, Coord{});
    for (const Leaf& l : plan.leaves)
      if (l.type.dtype == DType::bf16) {
        interpreter->draw(l, {.key = 7, .std = 1});
      } else {
        const std::vector<std::byte> zeros(size_t(l.bytes));
        interpreter->write(l, zeros.data());
      }
    const Program& p = plan.programs[0];
    std::vector<std::vector<double>> seen(p.instructions.size());
    for (int look = 0; look < kLooks; ++look) {
      const std::vector<double> times = interpreter->time_instructions(0);
      for (size_t i = 0; i < times.size(); ++i) seen[i].push_back(times[i]);
    }
    for (size_t i = 0; i < seen.size(); ++i) {
      const sim::KernelKind kind = sim::kind_of(plan, p, p.instructions[i]);
      out.push_back({kind.form, kind.sizes, kind.work, median(seen[i])});
      log::say("{} of {} positions: {:.1f} ms, {:.1f} TFLOP/s", kind.form, length, out.back().seconds * 1e3,
               kind.work / out.back().seconds / 1e12);
    }
  }
  return out;
}

}  // namespace megalith
