// Kernels of Cut and Join: two boxes each.
#include "ops/cut.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/box_copy.h"
#include "mesh/pieces.h"

namespace megalith::cuda {

namespace {

struct CutSizes {
  i64 rows, first, second;  // rows: all dims before the cut dim; elements of a row's parts
  i64 both() const { return first + second; }
};

CutSizes cut_sizes(const std::string& x, char at, i64 first, i64 second, const Shape& shape) {
  const size_t dim = x.find(at);
  check(shape[dim] == first + second, "[cut, join] {} is not {} + {}", shape[dim], first, second);
  CutSizes n{1, first, second};
  for (size_t i = 0; i < dim; ++i) n.rows *= shape[i];
  for (size_t i = dim + 1; i < shape.size(); ++i) n.first *= shape[i], n.second *= shape[i];
  return n;
}

}  // namespace

// The second result takes the argument of a list's workspace.
Kernel prepare(const Cut& op, const KernelContext& context) {
  const CutSizes n = cut_sizes(op.x, op.at, op.first, op.second, context.in_shape(0));
  const i64 element = size_of(context.ins[0].dtype);
  BoxCopyList list;
  list.add(Box{0, 0, {n.rows, n.first}, {n.both(), 1}, {n.first, 1}}, element, {Memory::in}, {Memory::out});
  list.add(Box{n.first, 0, {n.rows, n.second}, {n.both(), 1}, {n.second, 1}}, element, {Memory::in},
           {Memory::workspace});
  return {0, [list](const Args& a) { list.run(a.ins[0], a.outs[0], a.outs[1], a.stream); }};
}

// The second input takes the argument of a list's workspace.
Kernel prepare(const Join& op, const KernelContext& context) {
  const CutSizes n = cut_sizes(op.x, op.at, op.first, op.second, context.out_shape(0));
  const i64 element = size_of(context.outs[0].dtype);
  BoxCopyList list;
  list.add(Box{0, 0, {n.rows, n.first}, {n.first, 1}, {n.both(), 1}}, element, {Memory::in}, {Memory::out});
  list.add(Box{0, n.first, {n.rows, n.second}, {n.second, 1}, {n.both(), 1}}, element, {Memory::workspace},
           {Memory::out});
  return {0, [list](const Args& a) { list.run(a.ins[0], a.outs[0], a.ins[1], a.stream); }};
}

}  // namespace megalith::cuda
