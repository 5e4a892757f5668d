#include "mesh/mesh.h"

namespace megalith {

int Mesh::n(AxisSet axes) const {
  int product = 1;
  for (Axis a : axes) product *= n(a);
  return product;
}

AxisSet Mesh::used(AxisSet axes) const {
  AxisSet out;
  for (Axis a : axes)
    if (n(a) > 1) out.insert(a);
  return out;
}

Coord Mesh::coord(int rank) const { return at(Coord{}, kAllAxes, rank); }

int Mesh::rank(const Coord& c) const { return place(c, kAllAxes); }

int Mesh::place(const Coord& c, AxisSet axes) const {
  int place = 0;
  for (Axis a : axes) place = place * n(a) + c[int(a)];
  return place;
}

Coord Mesh::at(Coord c, AxisSet axes, int place) const {
  for (int i = kAxes - 1; i >= 0; --i)
    if (axes.has(Axis(i))) c[i] = place % size[i], place /= size[i];
  return c;
}

std::vector<int> Mesh::group_of(const Coord& c, AxisSet axes) const {
  std::vector<int> out;
  for (int k = 0, members = n(axes); k < members; ++k) out.push_back(rank(at(c, axes, k)));
  return out;
}

std::vector<std::vector<int>> Mesh::groups(AxisSet axes) const {
  std::vector<std::vector<int>> out;
  for (int r = 0, ranks = num_ranks(); r < ranks; ++r)
    if (place(coord(r), axes) == 0) out.push_back(group_of(coord(r), axes));
  return out;
}

}  // namespace megalith
