// A table that is only looked up has nonzero gradients only in the rows of the step's tokens. If the table has more
// rows than a micro-batch has tokens, those rows are marked. The other rows need no zeros, and the norm and the update
// do not read them.
#include <algorithm>

#include "ops/embedding.h"
#include "ops/update.h"
#include "passes/pass.h"
#include "passes/stream_state.h"

namespace megalith {

namespace {

bool reads_squares(const Node& n) { return n.op.get_if<SumSquares>(); }
bool updates_by(const Graph& g, const Node& n, Value gradient) {
  return n.op.get_if<Update>() && n.ins[1] == gradient && !is_on_host(g, n);
}

// The nodes that read the value; none if one of them cannot do with marks.
std::vector<int> readers_by_marks(const Graph& g, Value gradient) {
  std::vector<int> out;
  for (int i = 0; i < int(g.nodes.size()); ++i) {
    const Node& n = g.nodes[i];
    if (std::ranges::count(n.ins, gradient) == 0) continue;
    if (!reads_squares(n) && !updates_by(g, n, gradient)) return {};
    out.push_back(i);
  }
  for (const auto& [name, v] : g.outputs)
    if (v == gradient) return {};
  return out;
}

Value add_marks(Graph& g, Value gradient, std::string name, Role role) {
  const Type type{DType::u8, {g.type(gradient).shape[0]}, whole(1)};
  g.values.push_back({.type = type, .name = std::move(name), .grad_dtype = type.dtype, .role = role});
  return {int(g.values.size()) - 1};
}

bool mark(Graph& g, int at) {
  const auto* op = g.nodes[at].op.get_if<EmbeddingGrad>();
  if (!op || !op->accumulate || !op->starts || op->marks) return false;
  const Value accumulator = g.nodes[at].ins[2], gradient = g.nodes[at].outs[0];  // a leaf with its initial value
  if (g.type(accumulator).shape[0] <= g.type(g.nodes[at].ins[0]).elements()) return false;
  const std::vector<int> readers = readers_by_marks(g, gradient);
  if (readers.empty()) return false;
  EmbeddingGrad marking = *op;
  marking.marks = true;
  const Value before = add_marks(g, gradient, g.info(accumulator).name + ".rows", g.info(accumulator).role);
  const Value marks = add_marks(g, gradient, "", Role::activation);
  g.nodes[at].op = marking;
  g.nodes[at].ins.push_back(before), g.nodes[at].outs.push_back(marks);
  g.values[marks.id].node = at;
  for (int i : readers) {
    Node& n = g.nodes[i];
    n.ins.push_back(marks);
    if (reads_squares(n)) {
      n.op = SumSquares{n.op.get_if<SumSquares>()->ndim, true};
    } else {
      Update update = *n.op.get_if<Update>();
      update.marks = true;
      n.op = update;
    }
  }
  return true;
}

}  // namespace

bool mark_rows(Graph& g) {
  if (g.mesh.num_ranks() > 1) return false;  // gradients are sums over ranks, or their tables are split
  bool changed = false;
  for (int i = 0; i < int(g.nodes.size()); ++i) changed |= mark(g, i);
  return changed;
}

}  // namespace megalith
