#include "exec/cpu/kernels/attention_bias.h"

namespace megalith::cpu {

template <class T>
void spread_table(const AttentionPlan& p, const T* table, accum_t<T>* out) {
  const i64 n = i64(p.bucket_of.size());
  for (i64 head = 0; head < p.g * p.r; ++head)
    for (i64 i = 0; i < n; ++i) out[head * n + i] = accum_t<T>(table[head * p.at.buckets + p.bucket_of[size_t(i)]]);
}

template <class A>
void add_distances(const Distances<A>& bias, const Rect& rect, i64 query, i64 key, A* scores) {
  for (int j = rect.j0; j < rect.j1; ++j)
    for (i64 x = rect.c0 * kLanes<A>; x < rect.c1 * kLanes<A>; x += kLanes<A>) {
      A* at = scores + j * kTile + x;
      store(at, load(at) + load(bias.of(query + x, key + j)));
    }
}

template <class A>
void gather_distances(const A* dscores, const Rect& rect, i64 query, i64 key, const Distances<A>& to) {
  for (int j = rect.j0; j < rect.j1; ++j)
    for (i64 x = rect.c0 * kLanes<A>; x < rect.c1 * kLanes<A>; x += kLanes<A>) {
      A* at = to.of(query + x, key + j);
      store(at, load(at) + load(dscores + j * kTile + x));
    }
}

template <class A>
void BiasGrads<A>::begin(const AttentionPlan& p, i64 thread) const {
  const i64 n = p.r * p.distances();
  std::fill(by_distance + thread * n, by_distance + (thread + 1) * n, A(0));
}

template <class A>
void BiasGrads<A>::end(const AttentionPlan& p, i64 thread, i64 job) const {
  const i64 k = p.at.buckets, n = p.distances();
  A* of_job = sums + job * p.r * k;
  std::fill(of_job, of_job + p.r * k, A(0));
  for (i64 r = 0; r < p.r; ++r)
    for (i64 i = 0; i < n; ++i) of_job[r * k + p.bucket_of[size_t(i)]] += by_distance[(thread * p.r + r) * n + i];
}

template <class A>
void write_table(const AttentionPlan& p, const BiasGrads<A>& from, i64 parts, DType dtype, std::byte* out) {
  const i64 of_job = p.r * p.at.buckets;
  dispatch_float(dtype, [&]<class D>() {
    for (i64 i = 0; i < p.g * of_job; ++i) {
      A sum = 0;
      for (i64 b = 0; b < p.b; ++b)
        for (i64 part = 0; part < parts; ++part)
          sum += from.sums[((b * p.g + i / of_job) * parts + part) * of_job + i % of_job];
      reinterpret_cast<D*>(out)[i] = D(sum);
    }
  });
}

template void spread_table(const AttentionPlan&, const float*, float*);
template void spread_table(const AttentionPlan&, const bf16*, float*);
template void spread_table(const AttentionPlan&, const f16*, float*);
template void spread_table(const AttentionPlan&, const double*, double*);
template void add_distances(const Distances<float>&, const Rect&, i64, i64, float*);
template void add_distances(const Distances<double>&, const Rect&, i64, i64, double*);
template void gather_distances(const float*, const Rect&, i64, i64, const Distances<float>&);
template void gather_distances(const double*, const Rect&, i64, i64, const Distances<double>&);
template struct BiasGrads<float>;
template struct BiasGrads<double>;
template void write_table(const AttentionPlan&, const BiasGrads<float>&, i64, DType, std::byte*);
template void write_table(const AttentionPlan&, const BiasGrads<double>&, i64, DType, std::byte*);

}  // namespace megalith::cpu
