// Vocabulary-parallel cross entropy. A rank's columns have increasing global indices, so columns below `vocab` come
// before padding. A label is found by the runs of these indices. Labels of other ranks, labels of padding, and ignored
// (negative) labels add nothing.
#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/vector_math.h"

namespace megalith::cpu {
namespace {

struct Columns {
  i64 rows, width, valid;  // width: logits in a row; valid: logits without padding
  std::vector<Run> runs;   // runs of global indices

  i64 find(i64 label) const {  // -1: not on this rank
    i64 at = 0;
    for (const Run& r : runs) {
      if (label >= r.start && label < r.start + r.length) {
        const i64 column = at + label - r.start;
        return column < valid ? column : -1;
      }
      at += r.length;
    }
    return -1;
  }
};

std::shared_ptr<const Columns> columns_of(const KernelContext& context, int logits, i64 vocab) {
  const Shape x = context.in_shape(logits);
  const Type& type = context.ins[logits];
  auto c = std::make_shared<Columns>(
      Columns{x[0] * x[1], x[2], 0, index_runs(context.mesh, type.shape, type.layout, context.coord, 2)});
  for (const Run& r : c->runs) c->valid += std::clamp<i64>(vocab - r.start, 0, r.length);
  return c;
}

template <class T>
accum_t<T> max_row(const T* x, i64 n) {
  using A = accum_t<T>;
  constexpr i64 lanes = kLanes<A>;
  A out = -std::numeric_limits<A>::infinity();
  Vec<A> part[4] = {fill(out), fill(out), fill(out), fill(out)};
  i64 i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (int k = 0; k < 4; ++k) part[k] = max<A>(part[k], load(x + i + k * lanes));
  for (; i < n; ++i) out = std::max(out, A(x[i]));
  return std::max(out, max_lanes<A>(max<A>(max<A>(part[0], part[1]), max<A>(part[2], part[3]))));
}

template <class T>
Kernel vocab_max(std::shared_ptr<const Columns> c) {
  return {0, [c](const Args& a) {
            parallel_for(c->rows, 1,
                         [&](i64 row) { a.out<accum_t<T>>(0)[row] = max_row(a.in<T>(0) + row * c->width, c->valid); });
          }};
}

template <class T>
void sum_row(const Columns& c, const T* x, i32 label, accum_t<T> m, accum_t<T>* z0, accum_t<T>* z1) {
  using A = accum_t<T>;
  *z0 = sum_over<A>(c.valid, [&](i64 i, auto part) { return only<A>(exp(load(x + i, part) - m), part); });
  const i64 at = c.find(label);
  *z1 = at < 0 ? A(0) : A(x[at]) - m;
}

template <class T>
Kernel vocab_sums(std::shared_ptr<const Columns> c) {
  using A = accum_t<T>;
  return {0, [c](const Args& a) {
            A *z0 = a.out<A>(0), *z1 = z0 + c->rows;
            parallel_for(c->rows, 1, [&](i64 row) {
              sum_row(*c, a.in<T>(0) + row * c->width, a.in<i32>(1)[row], a.in<A>(2)[row], z0 + row, z1 + row);
            });
          }};
}

template <class T>
Kernel vocab_max_sums(std::shared_ptr<const Columns> c) {
  using A = accum_t<T>;
  return {0, [c](const Args& a) {
            A *m = a.out<A>(0), *z0 = a.out<A>(1), *z1 = z0 + c->rows;
            parallel_for(c->rows, 1, [&](i64 row) {
              const T* x = a.in<T>(0) + row * c->width;
              m[row] = max_row(x, c->valid);
              sum_row(*c, x, a.in<i32>(1)[row], m[row], z0 + row, z1 + row);
            });
          }};
}

// dx may be x.
template <class T>
void grad_row(const Columns& c, const T* x, i32 id, accum_t<T> m, accum_t<T> dz0, accum_t<T> dz1, T* dx) {
  using A = accum_t<T>;
  const i64 label = c.find(id);
  const A there = label < 0 ? A(0) : dz0 * exp(fill(A(x[label]) - m))[0] + dz1;  // read before x is overwritten
  each_vector<A>(0, c.valid, [&](i64 i, auto part) { store(dx + i, dz0 * exp(load(x + i, part) - m), part); });
  std::fill(dx + c.valid, dx + c.width, T(0));
  if (label >= 0) dx[label] = T(there);
}

template <class T>
Kernel vocab_sums_grad(std::shared_ptr<const Columns> c) {
  using A = accum_t<T>;
  return {0, [c](const Args& a) {
            const A *dz = a.in<A>(0), *m = a.in<A>(3);
            parallel_for(c->rows, 1, [&](i64 row) {
              const i64 at = row * c->width;
              grad_row(*c, a.in<T>(1) + at, a.in<i32>(2)[row], m[row], dz[row], dz[c->rows + row], a.out<T>(0) + at);
            });
          }};
}

template <class T>
Kernel vocab_loss(std::shared_ptr<const Columns> c) {
  using A = accum_t<T>;
  return {0, [c](const Args& a) {
            A *z0 = a.out<A>(0), *z1 = z0 + c->rows;
            parallel_for(c->rows, 1, [&](i64 row) {
              const T* x = a.in<T>(1) + row * c->width;
              const i32 label = a.in<i32>(2)[row];
              const A m = max_row(x, c->valid), dy = a.in<A>(0)[row];
              sum_row(*c, x, label, m, z0 + row, z1 + row);
              grad_row(*c, x, label, m, dy / z0[row], -dy, a.out<T>(1) + row * c->width);
            });
          }};
}

template <class A>
Kernel cross_entropy(i64 n) {
  return {0, [n](const Args& a) {
            const A* z = a.in<A>(0);
            parallel_for(n, 1024, [&](i64 i) { a.out<A>(0)[i] = std::log(z[i]) - z[n + i]; });
          }};
}

template <class A>
Kernel cross_entropy_grad(i64 n) {
  return {0, [n](const Args& a) {
            const A *dy = a.in<A>(0), *z = a.in<A>(1);
            A* dz = a.out<A>(0);
            parallel_for(n, 1024, [&](i64 i) { dz[i] = dy[i] / z[i], dz[n + i] = -dy[i]; });
          }};
}

}  // namespace

Kernel prepare(const VocabMax& op, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype,
                        [&]<class T>() { return vocab_max<T>(columns_of(context, 0, op.vocab)); });
}
Kernel prepare(const VocabSums& op, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype,
                        [&]<class T>() { return vocab_sums<T>(columns_of(context, 0, op.vocab)); });
}
Kernel prepare(const VocabMaxSums& op, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype,
                        [&]<class T>() { return vocab_max_sums<T>(columns_of(context, 0, op.vocab)); });
}
Kernel prepare(const VocabLoss& op, const KernelContext& context) {
  return dispatch_float(context.ins[1].dtype,
                        [&]<class T>() { return vocab_loss<T>(columns_of(context, 1, op.vocab)); });
}
Kernel prepare(const VocabSumsGrad& op, const KernelContext& context) {
  return dispatch_float(context.ins[1].dtype,
                        [&]<class T>() { return vocab_sums_grad<T>(columns_of(context, 1, op.vocab)); });
}
Kernel prepare(const CrossEntropy&, const KernelContext& context) {
  const Shape z = context.in_shape(0);
  return dispatch_float(context.ins[0].dtype, [&]<class T>() { return cross_entropy<T>(z[1] * z[2]); });
}
Kernel prepare(const CrossEntropyGrad&, const KernelContext& context) {
  const Shape z = context.in_shape(1);
  return dispatch_float(context.ins[1].dtype, [&]<class T>() { return cross_entropy_grad<T>(z[1] * z[2]); });
}

}  // namespace megalith::cpu
