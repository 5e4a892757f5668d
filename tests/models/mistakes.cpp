#include "tests/models/mistakes.h"

#include "passes/pass.h"

namespace megalith::harness {

std::string noticed_by(const TrainingSpec& spec) {
  try {
    build_training(spec);
  } catch (const Error& e) {
    return std::string("build: ") + e.what();
  }
  try {
    const double worst = compare_with_one_rank(spec).worst();
    return worst < 1e-10 ? "" : fmt::format("numbers off by {:.0e}", worst);
  } catch (const Error& e) {
    return std::string("run: ") + e.what();
  }
}

void bypass(Graph& g, int node) {
  replace_uses(g, {{g.nodes[node].outs[0], g.nodes[node].ins[0]}});
  std::vector<bool> drop(g.nodes.size());
  drop[node] = true;
  drop_nodes(g, drop);
}

void infer_again(Graph& g) {
  for (const Node& n : g.nodes) {
    std::vector<Type> types;
    try {
      types = n.op.infer(infer_args(g, n.ins, n.phase));
    } catch (const Error& e) {
      fail("[{}] {}: {}", n.op.name(), to_string(n.origin), e.what());
    }
    for (size_t k = 0; k < types.size(); ++k) g.values[n.outs[k].id].type = types[k];
  }
}

}  // namespace megalith::harness
