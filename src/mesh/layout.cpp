#include "mesh/layout.h"

#include <fmt/format.h>

namespace megalith {

State State::dual() const {
  if (kind == kCopy) return {kPartial};
  if (kind == kPartial) return {kCopy};
  return *this;
}

std::string to_string(State s) {
  switch (s.kind) {
    case State::kSame:
      return "Same";
    case State::kCopy:
      return "Copy";
    case State::kSplit:
      return fmt::format("Split({})", s.dim);
    case State::kPartial:
      return "Partial";
    case State::kMax:
      return "Max";
  }
  return "?";
}

State Layout::state(Axis a) const {
  for (size_t d = 0; d < dims.size(); ++d)
    for (const AxisUse& use : dims[d])
      if (use.axis == a) return split(int(d));
  if (partial.has(a)) return {State::kPartial};
  if (copy.has(a)) return {State::kCopy};
  if (max.has(a)) return {State::kMax};
  return {State::kSame};
}

std::array<State, kAxes> Layout::states() const {
  std::array<State, kAxes> out{};
  for (Axis a : partial) out[size_t(a)] = kPartial;
  for (Axis a : copy) out[size_t(a)] = kCopy;
  for (Axis a : max) out[size_t(a)] = kMax;
  for (size_t d = 0; d < dims.size(); ++d)
    for (const AxisUse& use : dims[d]) out[size_t(use.axis)] = split(int(d));
  return out;
}

AxisSet AxisList::axes() const {
  AxisSet out;
  for (const AxisUse& use : *this) out.insert(use.axis);
  return out;
}

SplitOver AxisList::split_from(size_t i) const {
  SplitOver out{(*this)[i].axis, (*this)[i].order, (*this)[i].rotated};
  for (; i + 1 < size(); ++i) {
    const AxisUse &before = (*this)[i], &use = (*this)[i + 1];
    const bool same_axis = dense_axis(use.axis) == dense_axis(before.axis) && use.axis > before.axis;
    if (!same_axis || use.order != before.order || use.rotated != before.rotated) break;
    out.axes.insert(use.axis);
  }
  return out;
}

static std::string to_string(const AxisList& list, AxisSet used) {
  std::string out;
  for (size_t i = 0; i < list.size();) {
    const SplitOver s = list.split_from(i);
    i += size_t(s.axes.size());
    const std::string names = to_string(s.axes, used);
    if (names.empty()) continue;
    out += fmt::format("{}{}{}{}", out.empty() ? "" : " ", names,
                       s.order == Order::zigzag   ? "~"
                       : s.order == Order::ragged ? "?"
                                                  : "",
                       s.rotated ? fmt::format("+{}", s.rotated) : "");
  }
  return out;
}

std::string to_string(const Layout& l, AxisSet used) {
  const Layout plain = whole(l.dims.size());
  if (l == plain) return "";
  std::string out = "{";
  for (size_t d = 0; d < l.dims.size(); ++d) out += fmt::format("{}{}", d ? ", " : "", to_string(l.dims[d], used));
  if (!l.copy.empty()) out += fmt::format(" | copy {}", to_string(l.copy, used));
  if (!l.partial.empty()) out += fmt::format(" | partial {}", to_string(l.partial, used));
  if (!l.max.empty()) out += fmt::format(" | max {}", to_string(l.max, used));
  return out + "}";
}

// The part [begin, end) of a list of runs, counted in elements.
static std::vector<Run> sub_runs(const std::vector<Run>& runs, i64 begin, i64 end) {
  std::vector<Run> out;
  i64 at = 0;
  for (const Run& r : runs) {
    const i64 lo = std::max(begin, at), hi = std::min(end, at + r.length);
    if (lo < hi) out.push_back({r.start + lo - at, hi - lo});
    at += r.length;
  }
  return out;
}

static void append(std::vector<Run>& runs, const std::vector<Run>& more) {
  for (const Run& r : more) {
    if (!runs.empty() && runs.back().start + runs.back().length == r.start)
      runs.back().length += r.length;
    else
      runs.push_back(r);
  }
}

std::vector<Run> index_runs(const Mesh& mesh, const Shape& shape, const Layout& layout, const Coord& coord, int dim) {
  std::vector<Run> runs = {{0, shape[dim]}};
  i64 size = shape[dim];
  const AxisList& list = layout.dims[dim];
  for (size_t i = 0; i < list.size();) {
    const SplitOver s = list.split_from(i);
    i += size_t(s.axes.size());
    if (s.order == Order::ragged)
      fail("dim {} of {} is ragged over {}: a rank's indices along it depend on the data", dim, to_string(shape),
           to_string(s.axes, mesh.used()));
    const i64 n = mesh.n(s.axes), k = (mesh.place(coord, s.axes) + n - s.rotated) % n;
    if (s.order == Order::block || n == 1) {
      runs = sub_runs(runs, size * k / n, size * (k + 1) / n);
    } else {
      const i64 chunk = size / (2 * n), j = 2 * n - 1 - k;
      std::vector<Run> both = sub_runs(runs, chunk * k, chunk * (k + 1));
      append(both, sub_runs(runs, chunk * j, chunk * (j + 1)));
      runs = std::move(both);
    }
    size /= n;
  }
  return runs;
}

std::vector<i64> indices(const Mesh& mesh, const Shape& shape, const Layout& layout, const Coord& coord, int dim) {
  std::vector<i64> out;
  for (const Run& r : index_runs(mesh, shape, layout, coord, dim))
    for (i64 i = 0; i < r.length; ++i) out.push_back(r.start + i);
  return out;
}

Shape local_shape(const Mesh& mesh, const Shape& shape, const Layout& layout) {
  Shape out = shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const AxisList& list = layout.dims[d];
    for (size_t i = 0; i < list.size();) {
      const auto [axes, order, rotated] = list.split_from(i);
      i += size_t(axes.size());
      const i64 n = mesh.n(axes), pieces = order == Order::zigzag && n > 1 ? 2 * n : n;
      if (rotated < 0 || rotated >= n)  // texts are made for errors only: shapes are asked very often
        fail("dim {} is rotated by {} over axis {} of {} ranks", d, rotated, to_string(axes, mesh.used()), n);
      if (out[d] % pieces != 0)
        fail("dim {} of {} ({} left) does not divide into {} parts over axis {}{}", d, to_string(shape), out[d], pieces,
             to_string(axes, mesh.used()), order == Order::zigzag ? " (zigzag)" : "");
      out[d] /= n;
    }
  }
  return out;
}

}  // namespace megalith
