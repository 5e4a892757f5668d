#include "cli/fp8/ops/runner.h"

#include "device/make_backend.h"
#include "graph/builder.h"

namespace megalith::fp8 {

OpRunner::OpRunner(const std::string& device) {
  DeviceOptions options;
  options.device = device, options.gemm_cache_file = "none";
  backend_ = make_backend(options);
}

std::vector<Array> OpRunner::run(const AnyOp& op, const std::vector<Array>& ins) const {
  return run_all({{op, ins}}, size_t(-1));
}

std::vector<Array> OpRunner::run_all(const std::vector<std::pair<AnyOp, std::vector<Array>>>& ops,
                                     size_t result) const {
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  std::vector<std::pair<std::string, const Array*>> leaves;
  std::vector<std::pair<std::string, Type>> outs;
  for (const auto& [op, ins] : ops) {
    std::vector<Value> values;
    for (const Array& in : ins) {
      leaves.emplace_back(fmt::format("in {}", leaves.size()), &in);
      values.push_back(b.leaf({leaves.back().first, {in.dtype, in.shape, whole(in.shape.size())}, Role::cache}));
    }
    const std::vector<Value> made = b.add(op, values);
    for (size_t i = 0; i < made.size(); ++i) {
      if (result != size_t(-1) && i != result) continue;
      outs.emplace_back(fmt::format("out {}", outs.size()), g.type(made[i]));
      g.outputs[outs.back().first] = made[i];
    }
  }
  const Plan plan = plan_memory(g.mesh, {{"ops", &g, {Phase::forward}}},
                                [&](const Graph& of, const Node& n) { return backend_->workspace_bytes(of, n); });
  const std::unique_ptr<Interpreter> interpreter = backend_->make_interpreter(plan, Coord{});
  for (const auto& [name, in] : leaves) interpreter->write(plan.leaf(name), in->bytes.data());
  interpreter->run(0, true);
  std::vector<Array> got;
  for (const auto& [name, type] : outs) {
    got.push_back({type.dtype, type.shape, std::vector<std::byte>(size_t(type.bytes()))});
    interpreter->read_output(0, name, got.back().bytes.data());
  }
  return got;
}

}  // namespace megalith::fp8
