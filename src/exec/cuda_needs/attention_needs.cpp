#include "exec/cuda_needs/attention_needs.h"

#include <algorithm>

namespace megalith::cuda {

using Way = AttentionChoice::Way;

namespace {

Indices held(const Mesh& mesh, const Type& t, const Coord& coord) {
  const std::vector<Run> runs = index_runs(mesh, t.shape, t.layout, coord, 0);
  check(runs.size() <= size_t(Indices::kMost), "dim 0 of {} lies in {} runs on a rank: want at most {}", to_string(t),
        runs.size(), Indices::kMost);
  Indices out;
  for (const Run& r : runs) {
    out.start[out.runs] = r.start, out.place[out.runs] = out.n;
    out.n += r.length, ++out.runs;
  }
  return out;
}

}  // namespace

std::vector<AttentionPlace> places_of(const Mesh& mesh, const Type& o, const Type& k) {
  AxisSet splits;
  for (const Type* t : {&o, &k}) splits.insert(t->layout.dims[0].axes());
  std::vector<AttentionPlace> out;
  for (int rank : mesh.group_of(Coord{}, splits)) {
    const Coord coord = mesh.coord(rank);
    out.push_back({held(mesh, o, coord), held(mesh, k, coord)});
  }
  return out;
}

i64 shortest_run(const std::vector<AttentionPlace>& places) {
  i64 shortest = places.at(0).queries.n;
  for (const AttentionPlace& p : places)
    for (int i = 0; i < p.queries.runs; ++i) shortest = std::min(shortest, p.queries.length(i));
  return shortest;
}

AttentionCase case_of_block(AttentionCase c, const std::optional<SeenBlock>& seen) {
  using Block = AttentionCase::Block;
  c.block = seen ? seen->causal ? Block::diagonal : Block::whole : Block::ragged;
  if (seen && seen->queries > 0) c.s = seen->queries, c.t = seen->keys;
  return c;
}

AttentionSizes hopper_sizes(AttentionSizes z, const SeenBlock& seen) {
  z.s = int(seen.queries), z.t = int(seen.keys), z.wide = true;
  z.positions = {.n = seen.queries, .runs = 1, .start = {seen.causal ? seen.keys - seen.queries : seen.keys}};
  z.keys = {.n = seen.keys, .runs = 1};
  return z;
}

AttentionSizes hopper_sizes(AttentionSizes z) {
  if (!z.causal) z.positions = {.n = z.s, .runs = 1, .start = {z.t}};
  return z;
}

PartWorkspace part_workspace(const AttentionSizes& z, const SeenBlock& seen) {
  const i64 rows = seen.queries * z.b * z.g * z.r;
  return {aligned(rows * z.d * size_of(DType::bf16)), aligned(rows * i64(sizeof(float)))};
}

i64 part_need(const AttentionCase& c, AttentionSizes z, const AttentionPlace& here) {
  const auto seen = seen_block(here.queries, here.keys);
  const Way way = choose_attention(case_of_block(c, seen)).way;
  if (!c.backward) return way == Way::cudnn ? part_workspace(z, *seen).bytes() : 0;
  z.positions = here.queries, z.keys = here.keys;
  if (way != Way::hopper) return attention_grad_workspace(z);
  return seen->queries > 0 ? hopper_grad_workspace(hopper_sizes(z, *seen)) : 0;
}

i64 part_need(const AttentionCase& c, const AttentionSizes& z, const std::vector<AttentionPlace>& places) {
  i64 most = 0;
  for (const AttentionPlace& p : places) most = std::max(most, part_need(c, z, p));
  return most;
}

i64 grad_need(AttentionChoice::Way way, AttentionSizes z, const std::vector<AttentionPlace>& places) {
  i64 most = 0;
  for (const AttentionPlace& p : places) {
    z.positions = p.queries, z.keys = p.keys;
    most = std::max(most, way == Way::hopper ? hopper_grad_workspace(z) : attention_grad_workspace(z));
  }
  return most;
}

}  // namespace megalith::cuda
