// Kernels of Cut and Join. They copy each of the two parts of a row as one run.
#include <cstring>

#include "base/threads.h"
#include "exec/cpu/kernel.h"

namespace megalith::cpu {

namespace {

struct Runs {
  i64 rows;           // product of the dims before the cut dim
  i64 first, second;  // bytes of a row's parts
};

Runs runs_of(const std::string& x, char at, i64 first, i64 second, const Shape& shape, DType dtype) {
  const size_t dim = x.find(at);
  check(shape[dim] == first + second, "[cut, join] {} is not {} + {}", shape[dim], first, second);
  Runs r{1, first * size_of(dtype), second * size_of(dtype)};
  for (size_t i = 0; i < dim; ++i) r.rows *= shape[i];
  for (size_t i = dim + 1; i < shape.size(); ++i) r.first *= shape[i], r.second *= shape[i];
  return r;
}

constexpr i64 kRows = 64;  // fewest rows of a thread

}  // namespace

Kernel prepare(const Cut& op, const KernelContext& context) {
  const Runs r = runs_of(op.x, op.at, op.first, op.second, context.in_shape(0), context.ins[0].dtype);
  return {0, [r](const Args& args) {
            parallel_for(r.rows, kRows, [&](i64 i) {
              const std::byte* x = args.ins[0] + i * (r.first + r.second);
              std::memcpy(args.outs[0] + i * r.first, x, size_t(r.first));
              std::memcpy(args.outs[1] + i * r.second, x + r.first, size_t(r.second));
            });
          }};
}

Kernel prepare(const Join& op, const KernelContext& context) {
  const Runs r = runs_of(op.x, op.at, op.first, op.second, context.out_shape(0), context.outs[0].dtype);
  return {0, [r](const Args& args) {
            parallel_for(r.rows, kRows, [&](i64 i) {
              std::byte* x = args.outs[0] + i * (r.first + r.second);
              std::memcpy(x, args.ins[0] + i * r.first, size_t(r.first));
              std::memcpy(x + r.first, args.ins[1] + i * r.second, size_t(r.second));
            });
          }};
}

}  // namespace megalith::cpu
