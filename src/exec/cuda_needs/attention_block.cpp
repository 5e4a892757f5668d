#include "exec/cuda_needs/attention_block.h"

namespace megalith::cuda {

namespace {

// The keys that one run of queries sees. The run has positions start.. and this length. It sees whole earlier runs of
// keys, then possibly the run that contains it.
std::optional<SeenBlock> seen_by_run(i64 start, i64 length, const Indices& keys) {
  SeenBlock out{.queries = length};
  i64 end = 0;  // of the keys so far, in positions
  for (int j = 0; j < keys.runs; ++j) {
    const i64 first = keys.start[j], count = keys.length(j);
    if (first < end) return {};
    end = first + count;
    if (first >= start + length) continue;
    if (out.causal) return {};
    out.causal = first == start && count == length;
    if (!out.causal && end > start) return {};
    out.keys += count;
  }
  return out;
}

// Whether the rows of `b` continue those of `a`: all see the same keys, or the diagonal continues.
bool goes_on(const SeenBlock& a, const SeenBlock& b) {
  if (a.query + a.queries != b.query || a.causal != b.causal) return false;
  return b.keys - a.keys == (a.causal ? b.queries : 0);
}

}  // namespace

std::optional<SeenBlock> seen_block(const Indices& queries, const Indices& keys) {
  SeenBlock out;
  for (int i = 0; i < queries.runs; ++i) {
    std::optional<SeenBlock> run = seen_by_run(queries.start[i], queries.length(i), keys);
    if (!run) return {};
    if (run->keys == 0) continue;
    run->query = queries.place[i];
    if (out.queries == 0) {
      out = *run;
    } else {
      if (!goes_on(out, *run)) return {};
      out.queries += run->queries, out.keys = run->keys;
    }
  }
  return out;
}

}  // namespace megalith::cuda
