// The atoms of the two views. An axis of a view ends at a cut: after a number of neighbouring ranks. An atom is
// between two successive cuts of either view.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "mesh/mesh.h"

namespace megalith {

namespace {

// Both views from the inside out, and the first rank after each axis.
constexpr int kParts = 3;
using Cuts = std::vector<i64>;
Cuts dense_cuts(const MeshSizes& s) { return {s.tp_rep, s.tp(), i64(s.tp()) * s.cp, s.stage()}; }
Cuts expert_cuts(const MeshSizes& s) { return {s.etp, i64(s.etp) * s.ep, s.stage()}; }

int axis_at(const Cuts& cuts, i64 cut) { return int(std::ranges::lower_bound(cuts, cut) - cuts.begin()); }

// None if a cut is no multiple of the previous one.
std::optional<Mesh> atoms(const MeshSizes& s) {
  const Cuts dense = dense_cuts(s), expert = expert_cuts(s);
  Cuts all = dense;
  all.insert(all.end(), expert.begin(), expert.end());
  std::ranges::sort(all);
  Mesh out;
  i64 before = 1;
  for (i64 cut : all) {
    if (cut > s.stage() || cut % before != 0) return {};
    if (cut == before) continue;
    const int last = kAxes - 1;  // tp_rep_etp, the innermost
    out.size[size_t(last - kParts * axis_at(dense, cut) - axis_at(expert, cut))] = int(cut / before);
    before = cut;
  }
  out.size[int(Axis::pp)] = s.pp;
  return out;
}

// The nearest sizes on either side of the one that `with` changes: "2 or 6".
template <class F>
std::string nearest(int size, int most, F&& with) {
  std::string out;
  for (const int step : {-1, 1})
    for (int n = std::min(size, most + 1) + step; n >= 1 && n <= most; n += step) {
      if (!atoms(with(n))) continue;
      out += fmt::format("{}{}", out.empty() ? "" : " or ", n);
      break;
    }
  return out;
}

[[noreturn]] void refuse(const MeshSizes& s) {
  std::string fit = "ep " + nearest(s.ep, s.stage(),
                                    [&](int ep) { return MeshSizes{s.dp, s.cp, s.tp_kv, s.tp_rep, s.pp, ep, s.etp}; });
  if (fit == "ep ")
    fit = "etp " +
          nearest(s.etp, s.stage(), [&](int etp) { return MeshSizes{s.dp, s.cp, s.tp_kv, s.tp_rep, s.pp, 1, etp}; }) +
          " with ep 1";
  fail("expert parallelism etp {} x ep {} cuts across tp {}{} x cp {} x dp {}: {} would fit", s.etp, s.ep, s.tp(),
       s.tp_rep > 1 ? fmt::format(" (tp_kv {} x tp_rep {})", s.tp_kv, s.tp_rep) : "", s.cp, s.dp, fit);
}

}  // namespace

Mesh make_mesh(const MeshSizes& sizes) {
  MeshSizes s = sizes;
  if (s.etp == 0) s.etp = s.tp();
  for (const int n : {s.dp, s.cp, s.tp_kv, s.tp_rep, s.pp, s.ep, s.etp}) check(n >= 1, "an axis of {} ranks", n);
  const std::optional<Mesh> mesh = atoms(s);
  if (!mesh) refuse(s);
  return *mesh;
}

}  // namespace megalith
