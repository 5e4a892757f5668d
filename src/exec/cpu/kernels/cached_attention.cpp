// Attention of new tokens over the KV cache, one (batch, head, query) at a time. It is bound by reading the cache once.
#include <cmath>
#include <cstring>
#include <limits>

#include "base/threads.h"
#include "exec/cpu/kernel.h"
#include "ops/relative_positions.h"

namespace megalith::cpu {

Kernel prepare(const CacheWrite&, const KernelContext& context) {
  const Shape cache = context.in_shape(0), x = context.in_shape(1);
  const i64 row = count(cache) / std::max<i64>(1, cache[0]) * size_of(context.ins[0].dtype), rows = x[0],
            most = cache[0];
  return {0, [=](const Args& a) {
            const i64 at = *a.in<i32>(2);
            check(at >= 0 && at + rows <= most, "[cache_write] rows {} to {} of a cache of {}", at, at + rows, most);
            std::memcpy(a.out<std::byte>(0) + at * row, a.in<std::byte>(1), size_t(rows * row));
          }};
}

namespace {

struct Sizes {
  i64 s, t, b, g, r, d, e;  // e: size of a value
};

// One query: scores, softmax, weighted sum. k and v point to this batch row and group. `step`: distance between
// positions.
template <class T>
struct OneQuery {
  using A = accum_t<T>;
  const Sizes& n;
  const AttentionSpec& at;
  A slope;
  const T* table;     // the head's biases by bucket; null: no bias
  const int* bucket;  // bucket of position - key

  A bias(i64 key, i64 position) const {
    if (table) return A(table[bucket[position - key]]);
    if (!at.alibi_scaled) return slope * A(key - position);
    return A(at.scale) * A(rounded_alibi(float(slope), key) - rounded_alibi(float(slope), position));
  }

  void operator()(T* o, const T* q, const T* k, const T* v, i64 position, A* scores) const {
    const i64 step = n.b * n.g * n.d, value_step = n.b * n.g * n.e;
    const i64 first = at.window > 0 ? std::max<i64>(0, position - at.window + 1) : 0;
    A most = -std::numeric_limits<A>::infinity();
    for (i64 p = first; p <= position; ++p) {
      A dot = 0;
      for (i64 i = 0; i < n.d; ++i) dot += A(q[i]) * A(k[p * step + i]);
      scores[p] = dot * A(at.scale) + bias(p, position);
      most = std::max(most, scores[p]);
    }
    A sum = 0;
    for (i64 p = first; p <= position; ++p) sum += scores[p] = std::exp(scores[p] - most);
    std::vector<A> out(size_t(n.e), A(0));
    for (i64 p = first; p <= position; ++p)
      for (i64 i = 0; i < n.e; ++i) out[i] += scores[p] * A(v[p * value_step + i]);
    for (i64 i = 0; i < n.e; ++i) o[i] = T(out[i] / sum);
  }
};

template <class T>
Kernel make(const CachedAttention& op, const KernelContext& context) {
  using A = accum_t<T>;
  const Shape q = context.in_shape(0), k = context.in_shape(1);
  const Sizes n{q[0], k[0], q[1], q[2], q[3], q[4], context.in_shape(2)[3]};
  const auto groups = context.in_indices(0, 2), heads = context.in_indices(0, 3);
  std::vector<A> slopes(size_t(n.g * n.r), A(0));
  if (op.at.alibi) {
    const i64 r_all = context.ins[0].dim(3);
    const auto all = alibi_slopes(op.at, context.ins[0].dim(2) * r_all);
    for (i64 i = 0; i < n.g * n.r; ++i) slopes[i] = A(all[groups[i / n.r] * r_all + heads[i % n.r]]);
  }
  std::vector<int> buckets;
  for (i64 distance = 0; op.at.buckets && distance < n.t; ++distance)
    buckets.push_back(relative_bucket(-distance, false, op.at.buckets, op.at.max_distance));
  const i64 jobs = n.b * n.g * n.r * n.s;
  return {jobs * n.t * i64(sizeof(A)), [=, at = op.at](const Args& a) {
            const i64 length = *a.in<i32>(3);
            check(length >= 0 && length + n.s <= n.t, "[cached_attention] {} tokens behind {} in a cache of {}", n.s,
                  length, n.t);
            parallel_for(jobs, 1, [&](i64 job) {
              const i64 i = job % n.s, r = job / n.s % n.r, g = job / n.s / n.r % n.g, b = job / n.s / n.r / n.g;
              const i64 head = ((i * n.b + b) * n.g + g) * n.r + r, group = b * n.g + g;
              const T* table = at.buckets ? a.in<T>(4) + (g * n.r + r) * at.buckets : nullptr;
              const OneQuery<T> query{n, at, slopes[g * n.r + r], table, buckets.data()};
              query(a.out<T>(0) + head * n.e, a.in<T>(0) + head * n.d, a.in<T>(1) + group * n.d,
                    a.in<T>(2) + group * n.e, length + i, reinterpret_cast<A*>(a.workspace) + job * n.t);
            });
          }};
}

}  // namespace

Kernel prepare(const CachedAttention& op, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype, [&]<class T>() { return make<T>(op, context); });
}

}  // namespace megalith::cpu
