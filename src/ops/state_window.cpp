#include "ops/state_window.h"

#include <algorithm>
#include <span>

namespace megalith {

namespace {

i64 aligned(i64 n) { return (n + Window::kAlignment - 1) / Window::kAlignment * Window::kAlignment; }

// A layout over the ranks that have different parts of the state, and over ranks that have the same part.
Layout layout_over(const Type& leaf) {
  Layout out = whole(2);
  AxisSet splits;
  for (const AxisList& dim : leaf.layout.dims) splits.insert(dim.axes());
  out.dims[0].add({splits});
  out.copy = leaf.layout.copy;
  return out;
}

}  // namespace

i64 Window::place(size_t stretch, int state) const {
  const auto width = [&](int some) {  // bytes of an element in the first states
    i64 sum = 0;
    for (const DType t : std::span(types).first(size_t(some))) sum += size_of(t);
    return sum;
  };
  i64 at = 0;
  for (size_t i = 0; i < stretch; ++i) at += width(states()) * aligned(stretches[i].count);
  return stretch < stretches.size() ? at + width(state) * aligned(stretches[stretch].count) : at;
}

std::string Window::text() const {
  std::string out;
  const bool alike = std::ranges::all_of(types, [&](DType t) { return t == types[0]; });
  for (const DType t : alike ? std::vector<DType>() : types) out += fmt::format("{} ", name_of(t));
  out += alike ? fmt::format("{} x", states()) : "x";
  for (const Stretch& s : stretches) out += fmt::format(" {}+{}", s.begin, s.count);
  return out;
}

Type Window::type(const Mesh& mesh, const Type& leaf) const {
  Layout layout = layout_over(leaf);
  const i64 parts = mesh.n(layout.dims[0].axes());
  return {types.at(0), {parts, bytes() / size_of(types[0])}, std::move(layout)};
}

void Window::check_leaves(const Mesh& mesh, Types leaves) const {
  check(states() > 0 && !stretches.empty() && leaves.size() == stretches.size() * size_t(states()),
        "{} leaves for a window of {} stretches of {} states", leaves.size(), stretches.size(), states());
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto& [begin, n] = stretches[i / size_t(states())];
    const i64 all = local_type(mesh, leaves[i]).elements();
    check(begin >= 0 && begin % kAlignment == 0 && n > 0 && begin + n <= all, "stretch {}+{} of {} elements", begin, n,
          all);
    check(leaves[i].dtype == types[i % size_t(states())] && layout_over(leaves[i]) == layout_over(leaves[0]),
          "a window over {} and {}", to_string(leaves[0]), to_string(leaves[i]));
  }
}

std::vector<Type> FetchState::infer(const InferArgs& a) const {
  window.check_leaves(a.mesh, a.ins);
  return {window.type(a.mesh, a.ins[0])};
}

std::vector<Type> StoreState::infer(const InferArgs& a) const {
  check(!a.ins.empty(), "no inputs");
  window.check_leaves(a.mesh, Types(a.ins).subspan(1));
  const Type type = window.type(a.mesh, a.ins[1]);
  check(a.ins[0] == type, "the window is {}, the leaves' is {}", to_string(a.ins[0]), to_string(type));
  return {type};
}

std::vector<Type> WindowUpdate::infer(const InferArgs& a) const {
  check(a.ins.size() == 3 + 2 * window.stretches.size(), "{} inputs for a window of {}", a.ins.size(), window.text());
  check(window.states() - states_of(rule) == int(copy()), "{} states of {} in a window", window.states(),
        name_of(rule));
  std::vector<Type> out = {a.ins[0]};
  for (size_t i = 3; i < a.ins.size(); ++i) {
    const Type& t = a.ins[i];
    const auto& [begin, n] = window.stretches[(i - 3) / 2];
    check(t.layout.partial.empty() && t.layout.max.empty() && layout_over(t).dims == a.ins[0].layout.dims,
          "a window of {} updates {}", to_string(a.ins[0]), to_string(t));
    check(begin + n <= local_type(a.mesh, t).elements(), "stretch {}+{} of {}", begin, n, to_string(t));
    const bool weights = i % 2 == 0;  // the weights follow their gradient
    if (!weights) continue;
    const Type& gradient = a.ins[i - 1];
    check(t.shape == gradient.shape && t.layout.dims == gradient.layout.dims, "weights are {}, their gradient {}",
          to_string(t), to_string(gradient));
    out.push_back(t);
  }
  return out;
}

// Reads and writes the ranges' gradients and weights, like Update.
Cost WindowUpdate::cost(Types ins, Types outs) const {
  Cost c{0, 2 * double(outs[0].bytes())};
  for (size_t k = 0; k < window.stretches.size(); ++k) {
    const double n = double(window.stretches[k].count);
    c.flops += flops_of(rule) * n;
    c.bytes += n * double(size_of(ins[3 + 2 * k].dtype) + size_of(outs[1 + k].dtype) * (copy() ? 1 : 2));
  }
  return c;
}

std::vector<Alias> WindowUpdate::aliases() const {
  std::vector<Alias> out = {{0, 0, true}};
  for (int k = 0; k < int(window.stretches.size()); ++k) out.push_back({1 + k, 4 + 2 * k, true});
  return out;
}

}  // namespace megalith
