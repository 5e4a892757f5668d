// How a logical tensor is distributed over the ranks of a mesh: for each dim the ordered axes that split it, and the
// axes over which it is Partial, Copy or Max. Partial: a sum not yet reduced. Copy: equal bits, each rank does its own
// part of the work with it. An axis that is not named is Same (equal bits, every rank does the same work with it). See
// docs/layouts.md.
#pragma once
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/shape.h"
#include "mesh/mesh.h"

namespace megalith {

// zigzag: of 2n chunks, rank k holds chunks k and 2n-1-k, in that order. ragged: the data determine a rank's part of
// a dim, and its size (ops/ragged.h). So no relayout changes it, and it has no indices.
enum class Order : u8 { block, zigzag, ragged };

struct AxisUse {
  Axis axis;
  Order order = Order::block;
  // By how many ranks the parts were rotated: of n, rank k holds the part of rank k - rotated (modulo n).
  int rotated = 0;
  bool operator==(const AxisUse&) const = default;
};

// A split over a group of axes.
struct SplitOver {
  AxisSet axes;
  Order order = Order::block;
  int rotated = 0;
};

// The axes that split a dim, outermost first. Neighbouring parts of one dense axis are one split over all their ranks.
// They are in mesh order, with the same order and rotation.
class AxisList : public std::vector<AxisUse> {
 public:
  AxisList() = default;
  AxisList(std::initializer_list<SplitOver> splits) {
    for (const SplitOver& s : splits) add(s);
  }
  void add(const SplitOver& s) {
    for (Axis a : s.axes) push_back({a, s.order, s.rotated});
  }
  AxisSet axes() const;
  SplitOver split_from(size_t i) const;  // the one split that begins with use i
};

// The state of a value along one axis.
struct State {
  enum Kind : u8 { kSame, kCopy, kSplit, kPartial, kMax } kind = kSame;
  int dim = -1;  // of kSplit
  bool operator==(const State&) const = default;
  bool is_split() const { return kind == kSplit; }
  State dual() const;  // the cotangent's: Copy and Partial change places
};
constexpr State kSame{State::kSame}, kCopy{State::kCopy}, kPartial{State::kPartial}, kMax{State::kMax};
constexpr State split(int dim) { return {State::kSplit, dim}; }
std::string to_string(State s);

struct Layout {
  std::vector<AxisList> dims;
  AxisSet partial, copy, max;

  bool operator==(const Layout&) const = default;
  State state(Axis a) const;
  std::array<State, kAxes> states() const;  // of all axes
  Layout dual() const { return {dims, copy, partial, {}}; }
};
// "{cp~ tp_kv, , | copy dp | partial tp_rep}", rotated {cp~+1}; "" if all is Same. `used`: as for a set of axes.
std::string to_string(const Layout& l, AxisSet used = kAllAxes);

// Whole on every dim, Same on every axis.
inline Layout whole(size_t ndim) { return {std::vector<AxisList>(ndim), {}, {}, {}}; }

// A run of consecutive global indices.
struct Run {
  i64 start, length;
  bool operator==(const Run&) const = default;
};

// The global indices along `dim` that the rank at `coord` holds, in its local order: at most two runs for one zigzag
// axis.
std::vector<Run> index_runs(const Mesh& mesh, const Shape& shape, const Layout& layout, const Coord& coord, int dim);

// The same as single numbers.
std::vector<i64> indices(const Mesh& mesh, const Shape& shape, const Layout& layout, const Coord& coord, int dim);

// The sizes on one rank. Error if a dim does not divide over its axes (zigzag: by 2n, unless n is 1).
Shape local_shape(const Mesh& mesh, const Shape& shape, const Layout& layout);

}  // namespace megalith
