#include "passes/gather_ahead.h"

#include <algorithm>
#include <map>

#include "graph/relayout_op.h"
#include "optim/update.h"
#include "passes/pass.h"

namespace megalith {

namespace {

// Nodes that begin or end a gather of weights for the first micro-batch.
bool of_gather(const Node& n) {
  const auto* r = n.op.get_if<Relayout>();
  return n.first_only && (n.op.get_if<Wait>() || (r && r->into));
}
bool ends(const Node& n) { return of_gather(n) && n.op.get_if<Wait>(); }

struct Gather {
  Node begin, end;
  int reader;  // the first node that reads the gathered value
};

}  // namespace

std::vector<Bucket> gather_weights(Builder& b, const std::vector<Bucket>& buckets,
                                   const std::vector<Parameter>& parameters) {
  b.set_phase(Phase::forward), b.set_module("weights");
  std::vector<Bucket> others;
  for (const Bucket& bucket : buckets) {
    const bool is_read = std::any_of(bucket.members.begin(), bucket.members.end(),
                                     [&](size_t m) { return bool(b.find_leaf(parameters[m].name)); });
    if (!bucket.late || bucket.coded || !is_read) {
      others.push_back(bucket);
      continue;
    }
    place_members(b, {bucket}, parameters);
    const Value part = bucket.has_copy() ? weights_shard_leaf(b, bucket) : main_leaf(b, bucket);
    b.wait(b.move_into(part, bucket.reduced, kCopy, weights_leaf(b, bucket), kWeightLane, true));
  }
  std::vector<Node> nodes = std::move(b.graph().nodes);
  std::stable_partition(nodes.begin(), nodes.end(), of_gather);
  set_nodes(b.graph(), std::move(nodes));
  return others;
}

bool gather_ahead(Graph& g) {
  std::map<Value, int> readers;  // by bucket
  for (int i = 0; i < int(g.nodes.size()); ++i)
    for (Value v : g.nodes[i].ins)
      if (const Value bucket = g.info(v).bucket.bucket) readers.emplace(bucket, i);
  std::vector<Gather> gathers;
  for (const Node& n : g.nodes)
    if (ends(n)) {
      const Node& begin = g.nodes[g.info(n.ins[0]).node];
      const auto reader = readers.find(begin.ins[1]);
      gathers.push_back({begin, n, reader == readers.end() ? int(g.nodes.size()) : reader->second});
    }
  std::stable_sort(gathers.begin(), gathers.end(),
                   [](const Gather& a, const Gather& b) { return a.reader < b.reader; });
  int head = 0;  // the node that computes the gathered codes
  for (const Gather& gather : gathers) head = std::max(head, g.info(gather.begin.ins[0]).node + 1);
  std::vector<Node> nodes;
  for (int i = 0; i < head; ++i)
    if (!of_gather(g.nodes[i])) nodes.push_back(std::move(g.nodes[i]));
  for (Gather& gather : gathers) nodes.push_back(std::move(gather.begin));
  auto next = gathers.begin();
  for (int i = head; i < int(g.nodes.size()); ++i) {
    for (; next != gathers.end() && next->reader == i; ++next) nodes.push_back(std::move(next->end));
    if (!of_gather(g.nodes[i])) nodes.push_back(std::move(g.nodes[i]));
  }
  for (; next != gathers.end(); ++next) nodes.push_back(std::move(next->end));
  set_nodes(g, std::move(nodes));
  return !gathers.empty();
}

}  // namespace megalith
