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

static std::string to_string(const AxisList& axes) {
  std::string out;
  for (const AxisUse& use : axes)
    out += fmt::format("{}{}{}{}", out.empty() ? "" : " ", name_of(use.axis), use.order == Order::zigzag ? "~" : "",
                       use.rotated ? fmt::format("+{}", use.rotated) : "");
  return out;
}

std::string to_string(const Layout& l) {
  const Layout plain = whole(l.dims.size());
  if (l == plain) return "";
  std::string out = "{";
  for (size_t d = 0; d < l.dims.size(); ++d) out += fmt::format("{}{}", d ? ", " : "", to_string(l.dims[d]));
  if (!l.copy.empty()) out += fmt::format(" | copy {}", to_string(l.copy.list()));
  if (!l.partial.empty()) out += fmt::format(" | partial {}", to_string(l.partial.list()));
  if (!l.max.empty()) out += fmt::format(" | max {}", to_string(l.max.list()));
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
  for (const AxisUse& use : layout.dims[dim]) {
    const i64 n = mesh.n(use.axis), k = (coord[int(use.axis)] + n - use.rotated) % n;
    if (use.order == Order::block || n == 1) {
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
  for (size_t d = 0; d < shape.size(); ++d)
    for (const AxisUse& use : layout.dims[d]) {
      check(use.rotated >= 0 && use.rotated < mesh.n(use.axis), "dim {} is rotated by {} over axis {} of {} ranks", d,
            use.rotated, name_of(use.axis), mesh.n(use.axis));
      const i64 n = mesh.n(use.axis), pieces = use.order == Order::zigzag && n > 1 ? 2 * n : n;
      check(out[d] % pieces == 0, "dim {} of {} ({} left) does not divide into {} parts over axis {}{}", d,
            to_string(shape), out[d], pieces, name_of(use.axis), use.order == Order::zigzag ? " (zigzag)" : "");
      out[d] /= n;
    }
  return out;
}

}  // namespace megalith
