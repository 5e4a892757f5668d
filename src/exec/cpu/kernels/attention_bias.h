// Relative position bias of attention. Each head's table of buckets is expanded to one bias per distance. A row of a
// score tile has one key and consecutive queries. So its biases are a contiguous range of distances. The backward sums
// dS by distance, then by bucket.
#pragma once
#include "exec/cpu/kernels/attention_tile.h"

namespace megalith::cpu {

// A head's biases, or their gradients, by distance. The index for query position q and key position k is q - k +
// origin.
template <class A>
struct Distances {
  A* at = nullptr;  // null: no table
  i64 origin = 0;

  A* of(i64 query, i64 key) const { return at + (query - key + origin); }
};

// Expands this rank's table [g,r,k] to out [g,r,distances].
template <class T>
void spread_table(const AttentionPlan& p, const T* table, accum_t<T>* out);

// Adds a head's bias to scores[j][*] of a rect. `query`: position of the query tile's first query. `key`: position of
// the key tile's first key.
template <class A>
void add_distances(const Distances<A>& bias, const Rect& rect, i64 query, i64 key, A* scores);
// Adds dS of a rect to the gradients of its distances.
template <class A>
void gather_distances(const A* dscores, const Rect& rect, i64 query, i64 key, const Distances<A>& to);

// Bias gradients of the backward. A job is one part of a pair (sequence, g). Jobs are numbered by pair, then by part.
template <class A>
struct BiasGrads {
  A* bias;         // by distance, [g,r,distances]
  A* by_distance;  // gradients of each thread's current job, [threads,r,distances]
  A* sums;         // gradients of all jobs by bucket, [jobs,r,k]

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
  // A thread calls these before and after a job.
  void begin(const AttentionPlan& p, i64 thread) const;
  void end(const AttentionPlan& p, i64 thread, i64 job) const;
};

// Writes the sums over jobs, in order, as [g,r,k] of `dtype`. `parts`: number of jobs of a pair (sequence, g).
template <class A>
void write_table(const AttentionPlan& p, const BiasGrads<A>& from, i64 parts, DType dtype, std::byte* out);

}  // namespace megalith::cpu
