// The axes of a mesh. Two views name the same ranks of a pipeline stage: the dense view dp, cp, tp_kv, tp_rep and the
// expert view edp, ep, etp, both with neighbours last. An axis here is an atom: what one axis of the dense view and one
// of the expert view have in common. So every axis of either view is a group of atoms (mesh/groups.h). Atoms in this
// order carry both views; most have one rank.
#pragma once
#include <bit>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

enum class Axis : u8 {  // neighbouring ranks differ in the last first
  pp,
  dp_edp,
  dp_ep,
  dp_etp,
  cp_edp,
  cp_ep,
  cp_etp,
  tp_kv_edp,
  tp_kv_ep,
  tp_kv_etp,
  tp_rep_edp,
  tp_rep_ep,
  tp_rep_etp
};
constexpr int kAxes = 13;
std::string_view name_of(Axis a);  // "dp_edp"

// The dense axis that the atom is a part of: 0 pp, 1 dp, 2 cp, 3 tp_kv, 4 tp_rep.
constexpr int dense_axis(Axis a) { return (int(a) + 2) / 3; }

class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(Axis a) : bits_(1u << int(a)) {}  // NOLINT: implicit, one axis is a set
  constexpr AxisSet(std::initializer_list<AxisSet> parts) {
    for (AxisSet part : parts) bits_ |= part.bits_;
  }
  constexpr bool has(AxisSet all_of) const { return (bits_ & all_of.bits_) == all_of.bits_; }
  constexpr bool meets(AxisSet any_of) const { return (bits_ & any_of.bits_) != 0; }
  constexpr void insert(AxisSet more) { bits_ |= more.bits_; }
  constexpr void erase(AxisSet less) { bits_ &= ~less.bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return std::popcount(bits_); }
  constexpr bool operator==(const AxisSet&) const = default;
  constexpr auto operator<=>(const AxisSet&) const = default;
  friend constexpr AxisSet operator&(AxisSet a, AxisSet b) { return a.bits_ &= b.bits_, a; }

  class Iterator {  // in mesh order
   public:
    using value_type = Axis;
    using difference_type = std::ptrdiff_t;
    constexpr Iterator() = default;
    constexpr explicit Iterator(u32 rest) : rest_(rest) {}
    constexpr Axis operator*() const { return Axis(std::countr_zero(rest_)); }
    constexpr Iterator& operator++() { return rest_ &= rest_ - 1, *this; }
    constexpr Iterator operator++(int) {
      const Iterator before = *this;
      return ++*this, before;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    u32 rest_ = 0;
  };
  constexpr Iterator begin() const { return Iterator(bits_); }
  constexpr Iterator end() const { return Iterator(0); }

 private:
  u32 bits_ = 0;
};

constexpr AxisSet all_axes() {
  AxisSet out;
  for (int i = 0; i < kAxes; ++i) out.insert(Axis(i));
  return out;
}
inline constexpr AxisSet kAllAxes = all_axes();

// The atoms of a dense axis.
constexpr AxisSet atoms_of(int dense) {
  AxisSet out;
  for (Axis a : kAllAxes)
    if (dense_axis(a) == dense) out.insert(a);
  return out;
}
// Whether all are parts of one dense axis.
constexpr bool is_of_one(AxisSet axes) { return !axes.empty() && atoms_of(dense_axis(*axes.begin())).has(axes); }

// "dp tp_kv". A complete dense axis has its own name; otherwise its atoms are named. `used`: the axes that count, as
// those of one rank do not (Mesh::used); if a dense axis has none, its parts have no name.
std::string to_string(AxisSet axes, AxisSet used = kAllAxes);

}  // namespace megalith
