// Ranks as points of a grid of named axes. Neighbouring ranks differ in the last axis first (Megatron's tp-cp-ep-dp-pp
// read backwards). `tp` is the pair (tk, tr): tk splits KV groups; tr, when tp exceeds the groups, the query heads of a
// group.
#pragma once
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

enum class Axis : u8 { pp, dp, cp, tk, tr };
constexpr int kAxes = 5;
constexpr std::array<Axis, kAxes> kAllAxes = {Axis::pp, Axis::dp, Axis::cp, Axis::tk, Axis::tr};
constexpr std::string_view name_of(Axis a) {
  constexpr std::string_view names[] = {"pp", "dp", "cp", "tk", "tr"};
  return names[int(a)];
}

class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(std::initializer_list<Axis> axes) {
    for (Axis a : axes) insert(a);
  }
  constexpr bool has(Axis a) const { return bits_ >> int(a) & 1; }
  constexpr void insert(Axis a) { bits_ |= 1u << int(a); }
  constexpr void erase(Axis a) { bits_ &= ~(1u << int(a)); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const AxisSet&) const = default;
  constexpr auto operator<=>(const AxisSet&) const = default;
  std::vector<Axis> list() const;  // in mesh order

 private:
  u32 bits_ = 0;
};
std::string to_string(const std::vector<Axis>& axes);  // "tk tr"

const std::vector<Axis>& tensor_parallel_axes();  // {tk, tr}

using Coord = std::array<int, kAxes>;  // a rank's place on each axis

struct Mesh {
  std::array<int, kAxes> size = {1, 1, 1, 1, 1};

  int n(Axis a) const { return size[int(a)]; }
  int n(const std::vector<Axis>& axes) const;
  int num_ranks() const;
  Coord coord(int rank) const;
  int rank(const Coord& c) const;
  // Lists of ranks that differ only in `axes`, each in mesh order.
  std::vector<std::vector<int>> groups(const std::vector<Axis>& axes) const;
};
Mesh make_mesh(int dp, int cp, int tk, int tr);

}  // namespace megalith
