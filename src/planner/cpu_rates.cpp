#include "planner/cpu_rates.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/threads.h"
#include "ops/all.h"

namespace megalith {

namespace {

// The least of several short trials: other programs only add time.
template <class F>
double least_seconds(F&& f) {
  constexpr double kLongest = 0.2;  // seconds of all trials
  constexpr int kFewest = 5, kMost = 50;
  const double begun = steady_seconds();
  double least = 1e9;
  for (int i = 0; i < kMost && (i < kFewest || steady_seconds() - begun < kLongest); ++i) {
    const double start = steady_seconds();
    f();
    least = std::min(least, steady_seconds() - start);
  }
  return least;
}

// Flop/s of a matrix product.
double product_rate(const Backend& backend) {
  constexpr i64 n = 512;
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  const Type square{DType::f32, {n, n}, whole(2)};
  b.add1(Einsum{"mk,nk->mn", DType::f32}, {b.leaf({"a", square}), b.leaf({"b", square})});
  const Plan plan = plan_memory(g.mesh, {{"product", &g, {Phase::forward}}},
                                [&](const Graph& of, const Node& node) { return backend.workspace_bytes(of, node); });
  const auto interpreter = backend.make_interpreter(plan, Coord{});
  for (const Leaf& l : plan.leaves) interpreter->draw(l, {.key = 7, .std = 1});
  interpreter->busy_seconds();
  return 2.0 * n * n * n / least_seconds([&] {
           interpreter->run(0, true);
           interpreter->busy_seconds();  // waits
         });
}

// Bytes/s of a triad over arrays of 32 MiB.
double memory_rate() {
  const i64 n = i64{8} << 20;
  std::vector<float> a(static_cast<size_t>(n), 1), b(static_cast<size_t>(n), 2), c(static_cast<size_t>(n), 3);
  const double seconds = least_seconds([&] {
    parallel_ranges(n, 1 << 16, [&](i64 lo, i64 hi) {
      for (i64 i = lo; i < hi; ++i) a[size_t(i)] = b[size_t(i)] + 0.5f * c[size_t(i)];
    });
  });
  return 12.0 * double(n) / seconds;
}

}  // namespace

sim::Hardware cpu_rates(const Backend& backend) {
  const double flops = product_rate(backend), memory = memory_rate();
  return {"this CPU", 0.9 * flops, 0.1 * flops, memory, 5e9, 2e-6, memory / 2};
}

}  // namespace megalith
