// Attention's bias by relative position. For each head it is expanded over distances. A row of a score tile has one key
// and consecutive queries, so it adds a contiguous range of that. The gradient is the reverse: dS is summed by
// distance, then by bucket.
#pragma once
#include "exec/cpu/kernels/attention_tile.h"

namespace megalith::cpu {

// A head's biases, or the gradients of them, by distance: of a query at position q and a key at k at q - k + origin.
template <class A>
struct Distances {
  A* at = nullptr;  // null: there is no table
  i64 origin = 0;

  A* of(i64 query, i64 key) const { return at + (query - key + origin); }
};

// table [g,r,k] of this rank -> out [g,r,distances]
template <class T>
void spread_table(const AttentionPlan& p, const T* table, accum_t<T>* out);

// scores[j][*] of a rect: adds each head's bias. `query`: the position of the tile's first; `key`: of the key tile's.
template <class A>
void add_distances(const Distances<A>& bias, const Rect& rect, i64 query, i64 key, A* scores);
// Adds dS of a rect to its distances.
template <class A>
void gather_distances(const A* dscores, const Rect& rect, i64 query, i64 key, const Distances<A>& to);

// Of the backward. A job has one sequence and one g; jobs are numbered by both, then by the parts that one is cut into.
template <class A>
struct BiasGrads {
  A* bias;         // by distance, [g,r,distances]
  A* by_distance;  // the gradients of the threads' jobs, [threads,r,distances]
  A* sums;         // of all jobs by bucket, [jobs,r,k]

  static i64 elements(const AttentionPlan& p, i64 jobs) {
    return p.r * ((p.g + p.threads) * p.distances() + jobs * p.at.buckets);
  }
  BiasGrads(const AttentionPlan& p, A* memory)
      : bias(memory),
        by_distance(bias + p.g * p.r * p.distances()),
        sums(by_distance + p.threads * p.r * p.distances()) {}

  Distances<A> bias_of(const AttentionPlan& p, const Item& it) const {
    return {p.at.buckets ? bias + (it.g * p.r + it.r) * p.distances() : nullptr, p.origin};
  }
  Distances<A> grads_of(const AttentionPlan& p, const Item& it, i64 thread) const {
    return {p.at.buckets ? by_distance + (thread * p.r + it.r) * p.distances() : nullptr, p.origin};
  }
  // Of one thread, before and after a job.
  void begin(const AttentionPlan& p, i64 thread) const;
  void end(const AttentionPlan& p, i64 thread, i64 job) const;
};

// [g,r,k] of `dtype`: the sums of all jobs, in their order. `parts`: into which one sequence's g is cut.
template <class A>
void write_table(const AttentionPlan& p, const BiasGrads<A>& from, i64 parts, DType dtype, std::byte* out);

}  // namespace megalith::cpu
