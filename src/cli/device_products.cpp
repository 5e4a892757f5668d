#include "cli/device_products.h"

#include <algorithm>

#include "base/threads.h"
#include "graph/builder.h"
#include "ops/einsum.h"

namespace megalith {

DeviceProducts::DeviceProducts(std::unique_ptr<Backend> backend, i64 queries, i64 points, i64 size)
    : backend_(std::move(backend)),
      queries_(queries),
      points_(std::max<i64>(1, (points + 63) / 64) * 64),  // a number of rows that matrix products write fast
      products_(std::size_t(queries_ * points_)) {
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  const auto matrix = [&](const char* name, i64 rows) { return b.leaf({name, {DType::bf16, {rows, size}, whole(2)}}); };
  const Value q = matrix("queries", queries_), p = matrix("points", points_);
  g.outputs["products"] = b.add1(Einsum{"qd,pd->qp", DType::f32}, {q, p});
  plan_ = plan_memory(g.mesh, {{"products", &g, {Phase::forward}}},
                      [&](const Graph& of, const Node& n) { return backend_->workspace_bytes(of, n); });
  interpreter_ = backend_->make_interpreter(plan_, Coord{});
}

void DeviceProducts::write(const char* leaf, std::span<const i16> numbers) {
  const Leaf& to = plan_.leaf(leaf);
  numbers_.assign(std::size_t(to.type.elements()), bf16());
  parallel_for(i64(numbers.size()), 1 << 16,
               [&](i64 i) { numbers_[std::size_t(i)] = bf16(float(numbers[std::size_t(i)])); });
  interpreter_->write(to, numbers_.data());
}

void DeviceProducts::set_points(std::span<const i16> points) { write("points", points); }

std::span<const float> DeviceProducts::multiply(std::span<const i16> queries) {
  write("queries", queries);
  interpreter_->run(0, true);
  interpreter_->read_output(0, "products", products_.data());
  return products_;
}

}  // namespace megalith
