// Ranks as points of a grid of axes, in Megatron's order tp-cp-ep-dp-pp read backwards: neighbouring ranks differ in
// the last axis first.
#pragma once
#include <array>
#include <vector>

#include "mesh/axis.h"
#include "mesh/groups.h"

namespace megalith {

using Coord = std::array<int, kAxes>;  // a rank's place on each axis

struct Mesh {
  std::array<int, kAxes> size = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

  int n(Axis a) const { return size[int(a)]; }
  int n(AxisSet axes) const;
  int num_ranks() const { return n(kAllAxes); }
  AxisSet used(AxisSet axes = kAllAxes) const;  // those of more than one rank
  Coord coord(int rank) const;
  int rank(const Coord& c) const;

  // A rank's number among the ranks that differ from it only in `axes`. Also the coordinate of number `place` of them.
  int place(const Coord& c, AxisSet axes) const;
  Coord at(Coord c, AxisSet axes, int place) const;

  std::vector<int> group_of(const Coord& c, AxisSet axes) const;  // they themselves, ascending
  std::vector<std::vector<int>> groups(AxisSet axes) const;       // those lists of all ranks
};

// The sizes of both views. The ranks are dp x cp x tp_kv x tp_rep x pp; ep and etp divide those of a stage in another
// way, and edp is the quotient.
struct MeshSizes {
  int dp = 1, cp = 1, tp_kv = 1, tp_rep = 1, pp = 1;
  int ep = 1, etp = 0;  // etp 0: tp
  int tp() const { return tp_kv * tp_rep; }
  int stage() const { return dp * cp * tp(); }
};

// Error if the axes of the two views cut across one another.
Mesh make_mesh(const MeshSizes& sizes);

}  // namespace megalith
