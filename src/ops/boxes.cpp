#include "ops/boxes.h"

#include <algorithm>

namespace megalith {

i64 run_length(const Mesh& mesh, const Type& x, int d) {
  const AxisList& uses = x.layout.dims[size_t(d)];
  i64 cuts = mesh.n(uses.axes());
  for (const AxisUse& u : uses)
    if (u.order == Order::zigzag && mesh.n(u.axis) > 1) return x.dim(d) / (2 * cuts);
  return x.dim(d) / cuts;
}

namespace {

// Of the axes that split a dim: those of data-parallel ranks, each of which has a scale of its own for a tensor.
// Experts' rows on a rank are of tokens of all ranks that share the experts. So these ranks share a scale.
AxisList apart(const AxisList& uses) {
  AxisList out;
  for (AxisUse u : uses)
    if (groups::data.has(u.axis) && (u.order != Order::ragged || !groups::expert.has(u.axis)))
      u.order = u.order == Order::ragged ? Order::block : u.order, out.push_back(u);
  return out;
}

bool is_ragged(const AxisList& uses) { return std::ranges::find(uses, Order::ragged, &AxisUse::order) != uses.end(); }

}  // namespace

Type grid_of(const Mesh& mesh, const Type& x, const Shape& box, bool over_ranks) {
  if (box.size() != x.shape.size()) fail("boxes {} of {}", to_string(box), to_string(x));
  if (!mesh.used(x.layout.partial).empty() || !x.layout.max.empty())
    fail("boxes of {}, which is not summed", to_string(x));
  Type out{DType::f32, {}, whole(x.shape.size())};
  out.layout.copy = x.layout.copy, out.layout.partial = x.layout.partial;
  for (int d = 0; d < x.ndim(); ++d) {
    const AxisList& uses = x.layout.dims[size_t(d)];
    const i64 size = box[size_t(d)];
    const bool ragged = is_ragged(uses);
    const AxisList own = ragged ? apart(uses) : uses;
    if (size <= 0 || (ragged && size * mesh.n(own.axes()) != x.dim(d)))
      fail("boxes {} of {}", to_string(box), to_string(x));
    out.shape.push_back((x.dim(d) + size - 1) / size);
    AxisSet shared = mesh.used(uses.axes());
    shared.erase(own.axes());
    if (ragged && (over_ranks || shared.empty()))
      out.layout.dims[size_t(d)] = own, out.layout.max.insert(shared);
    else if (mesh.n(uses.axes()) == 1 || run_length(mesh, x, d) % size == 0)
      out.layout.dims[size_t(d)] = uses;
    else if (over_ranks && size >= x.dim(d))
      out.layout.max.insert(mesh.used(uses.axes()));
    else
      fail("boxes of {} along dim {} of {}: ranks hold runs of {} of them", size, d, to_string(x.shape),
           run_length(mesh, x, d));
  }
  return out;
}

Shape tensor_box(const Mesh& mesh, const Type& x) {
  Shape out = x.shape;
  for (int d = 0; d < x.ndim(); ++d) out[size_t(d)] /= mesh.n(apart(x.layout.dims[size_t(d)]).axes());
  return out;
}

Type tensor_amax(const Mesh& mesh, const Type& x) { return grid_of(mesh, x, tensor_box(mesh, x), true); }

Shape row_box(const Shape& shape, const std::vector<int>& dims, i64 n) {
  Shape out(shape.size(), 1);
  for (size_t i = dims.size(); i-- > 0 && n > 1;) {
    const i64 size = shape[size_t(dims[i])];
    out[size_t(dims[i])] = std::min(size, n);
    n = size <= n && n % size == 0 ? n / size : 1;
  }
  return out;
}

}  // namespace megalith
