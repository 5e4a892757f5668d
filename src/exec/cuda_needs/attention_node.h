// An attention on one rank: its sizes, the properties of its case, and its problems for cuDNN.
#pragma once
#include "exec/cuda_needs/attention_needs.h"
#include "exec/cuda_needs/cudnn_problem.h"
#include "exec/cuda_needs/local_node.h"
#include "exec/cuda_needs/relative_buckets.h"
#include "ops/attention.h"

namespace megalith::cuda {

// The location of attention's operands: three tensors, or one that holds them all. `q`: the index of the op's input q
// or qkv. `o`: the type of attention's result.
struct Form {
  const AttentionSpec& at;
  const LocalNode& context;
  int q;
  const Type& o;
  Shape sizes;  // s, b, g, r, d
  i64 t;        // keys

  Form(const AttentionSpec& spec, const LocalNode& where, int first, const Type& result);
  DType dtype() const { return context.ins[size_t(q)].dtype; }
  i64 groups() const { return sizes[2]; }
  i64 heads() const { return sizes[2] * sizes[3]; }
  i64 query_heads() const { return at.packed() ? heads() + 2 * groups() : heads(); }
  i64 key_heads() const { return at.packed() ? query_heads() : groups(); }
  int inputs() const { return at.packed() ? 1 : 3; }  // q, k and v together

  Indices indices(int dim) const { return indices_of(context, o, dim); }
  const Type& k() const { return context.ins[size_t(at.packed() ? q : q + 1)]; }
  std::vector<AttentionPlace> places() const { return places_of(context.mesh, o, k()); }
  bool is_cut() const { return sizes[0] < o.dim(0); }           // over several places
  Indices keys() const { return indices_of(context, k(), 0); }  // positions
  RelativeBuckets buckets() const;
};

AttentionCase case_of(const Form& f, bool backward);
AttentionSizes sizes_of(const Form& f);
CudnnAttention problem_of(const Form& f);

// The forward's problems, one for each run of positions. The keys that a run's causal queries see end with the run.
std::vector<CudnnAttention> run_problems(const Form& f);
i64 ends_bytes(const Form& f);    // for sequences that end early
i64 biases_bytes(const Form& f);  // for all scores of a sample
i64 stats_bytes(const Form& f);

// cuDNN's deterministic backward (before 9.25, on Hopper) stores all of dS: s x s elements a head. So one run of the
// plan processes a part of the samples, or of a sample's groups. It is the largest part that fits in a 32nd of the
// GPU's memory. Small parts leave the GPU idle at their ends. If a single group takes more than an 8th (long
// sequences), our own kernel, which stores no dS, is used.
constexpr i64 kScoresShare = 32, kMostShare = 8;
CudnnAttention grad_part(const Form& f);
i64 grad_runs(const CudnnAttention& whole, const CudnnAttention& part);
i64 grad_stats_bytes(const CudnnAttention& part);  // for one run

// A ring's block of keys as a problem for cuDNN.
CudnnAttention problem_of(const Form& f, const SeenBlock& seen);

}  // namespace megalith::cuda
