// Passes: named rewrites of a graph that keep its meaning. Each is timed, can be switched off by name, and is followed
// by verify().
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace megalith {

struct Pass {
  std::string name;
  std::function<bool(Graph&)> run;  // says whether it changed anything
};

struct PassReport {
  std::string name;
  bool changed = false;
  double ms = 0;
  size_t nodes = 0;     // after it
  std::string of = {};  // which graph, where a step has several
};

// Runs the passes in order, but for the names in `off`. Error if a pass leaves a graph that does not verify, naming the
// pass.
std::vector<PassReport> run_passes(Graph& g, const std::vector<Pass>& passes, const std::set<std::string>& off = {});
std::string print(const std::vector<PassReport>& reports);

// The passes every step goes through, in order; `ring` only if the user wants it.
std::vector<Pass> standard_passes(bool ring = false);

bool erase_unit_axes(Graph& g);  // axes of one rank leave the types; relayouts over them vanish
bool ring(Graph& g);             // attention's keys and values go round the context-parallel ranks, not gathered
bool keep_repeated(Graph& g);    // the backward keeps results of ops with `repeats`, and does not recompute them
bool cast_once(Graph& g);        // weights are cast to codes in a step's first micro-batch only
bool transpose_codes(Graph& g);  // products of codes sum over last dims
bool fuse_accumulate(Graph& g);  // a gradient's producer adds straight into the accumulator
bool fuse_bias(Graph& g);        // a bias is added by the product before it
bool fuse_add(Graph& g);         // the product that gives a sum's last term computes the sum
bool fuse_code_add(Graph& g);    // the same by products of codes
bool fuse_residual(Graph& g);    // the same for the gradient of a norm
bool fuse_bias_grad(Graph& g);   // an activation's or a norm's gradient adds up that of the bias before it
bool fuse_loss(Graph& g);        // the vocabulary's maximum and sums read the logits once
bool fuse_loss_grad(Graph& g);   // so does the logits' gradient with them
bool mark_rows(Graph& g);        // of a table's gradient only the rows of the step's tokens are made and read
bool multi_tensor(Graph& g);     // small ops on many gradients or parameters become one
bool remove_dead(Graph& g);      // nodes whose results nobody reads
bool rematerialize(Graph& g);    // the backward rematerializes activations' and norms' outputs
bool fuse_amax(Graph& g);        // the op that writes a cast's input also gives its amax
bool hoist(Graph& g);            // accumulations and the update's nodes move directly after their inputs

// Which result of a gradient op is the rematerialized output of the forward; -1: none.
int rematerialized_output(const AnyOp& op);

// Excluded, as the user chooses them: overlap of tensor-parallel transfers with products, and of expert dispatch with
// the shared expert. Also the all-gathers of new weights during the forward (passes/gather_ahead.h), which must run
// last as they depend on the order. overlap_dispatch runs after overlap_experts, for every step in which ranks share
// experts. cast_once and fuse_casts run after the passes that repeat casts or add their transposes.
// Ops whose result is only cast write codes; several casts of a value read it once. has_kernel: says of a node, a
// CodedResult, whether the device has one kernel for it.
using HasKernel = std::function<bool(const Graph&, const Node&)>;
bool fuse_casts(Graph& g, const HasKernel& has_kernel);
bool overlap_tensor(Graph& g);
// Tensor-parallel transfers overlap the product that reads or makes what they move, if a rank has `least_rows` tokens
// of it. A product of few rows has too few tiles for a GPU.
inline constexpr i64 kOverlappedRows = 2048;
bool overlap_products(Graph& g, i64 least_rows = kOverlappedRows);
bool overlap_experts(Graph& g);
bool overlap_dispatch(Graph& g);  // expert dispatch and combine overlap all independent work
bool gather_ahead(Graph& g);

// Tools for passes: how often each value is read (by nodes, or as an output); replacing every use of the keys; dropping
// the marked nodes, which keeps the values' node numbers right.
std::vector<int> count_uses(const Graph& g);
void replace_uses(Graph& g, const std::map<Value, Value>& by);
void drop_nodes(Graph& g, const std::vector<bool>& drop);
void set_nodes(Graph& g, std::vector<Node> nodes);  // in this order

}  // namespace megalith
