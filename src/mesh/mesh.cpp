#include "mesh/mesh.h"

#include <fmt/format.h>

#include <map>

namespace megalith {

std::vector<Axis> AxisSet::list() const {
  std::vector<Axis> out;
  for (Axis a : kAllAxes)
    if (has(a)) out.push_back(a);
  return out;
}

std::string to_string(const std::vector<Axis>& axes) {
  std::string out;
  for (Axis a : axes) out += fmt::format("{}{}", out.empty() ? "" : " ", name_of(a));
  return out;
}

const std::vector<Axis>& tensor_parallel_axes() {
  static const std::vector<Axis> axes = {Axis::tk, Axis::tr};
  return axes;
}

int Mesh::n(const std::vector<Axis>& axes) const {
  int product = 1;
  for (Axis a : axes) product *= n(a);
  return product;
}

int Mesh::num_ranks() const {
  int product = 1;
  for (int s : size) product *= s;
  return product;
}

Coord Mesh::coord(int rank) const {
  Coord c{};
  for (int i = kAxes - 1; i >= 0; --i) c[i] = rank % size[i], rank /= size[i];
  return c;
}

int Mesh::rank(const Coord& c) const {
  int r = 0;
  for (int i = 0; i < kAxes; ++i) r = r * size[i] + c[i];
  return r;
}

std::vector<std::vector<int>> Mesh::groups(const std::vector<Axis>& axes) const {
  std::map<Coord, std::vector<int>> by;  // key: the coordinate with `axes` set to 0
  for (int r = 0; r < num_ranks(); ++r) {
    Coord key = coord(r);
    for (Axis a : axes) key[int(a)] = 0;
    by[key].push_back(r);
  }
  std::vector<std::vector<int>> out;
  for (auto& [key, ranks] : by) out.push_back(std::move(ranks));
  return out;
}

Mesh make_mesh(int dp, int cp, int tk, int tr) { return {{1, dp, cp, tk, tr}}; }

}  // namespace megalith
