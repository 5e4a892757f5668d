// What the kernels of attention, of all keys or of a ring's block of them, are prepared from: where the operands lie,
// what is known of the case, and cuDNN's plans for it.
#pragma once
#include <array>

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/attention/attention_needs.h"
#include "exec/cuda/kernels/attention/cudnn_attention.h"

namespace megalith::cuda {

// Where attention's operands lie: three tensors, or one that holds them all. `q`: the index of the op's input q or qkv;
// `o` the type of attention's result.
struct Form {
  const AttentionSpec& at;
  const Site& site;
  int q;
  const Type& o;
  Shape sizes;  // s, b, g, r, d
  i64 t;        // keys

  Form(const AttentionSpec& spec, const Site& where, int first, const Type& result);
  DType dtype() const { return site.ins[size_t(q)].dtype; }
  i64 groups() const { return sizes[2]; }
  i64 heads() const { return sizes[2] * sizes[3]; }
  i64 query_heads() const { return at.packed() ? heads() + 2 * groups() : heads(); }
  i64 key_heads() const { return at.packed() ? query_heads() : groups(); }
  int inputs() const { return at.packed() ? 1 : 3; }  // q, k and v together

  Indices indices(int dim) const { return indices_of(site, o, dim); }
  const Type& k() const { return site.ins[size_t(at.packed() ? q : q + 1)]; }
  std::vector<AttentionPlace> places() const { return places_of(site.mesh, o, k()); }
  bool is_cut() const { return sizes[0] < o.dim(0); }        // over several places
  Indices keys() const { return indices_of(site, k(), 0); }  // positions
};

AttentionCase case_of(const Form& f, bool backward);
AttentionSizes sizes_of(const Form& f);
CudnnAttention problem_of(const Form& f);

// Two stages of shared memory where they fit. bytes: what a block asks for.
void choose_stages(AttentionSizes& z, const Device& device, i64 (*bytes)(const AttentionSizes&));

// What of a Form a kernel needs when it runs.
struct Pointers {
  bool packed, has_starts;
  i64 keys, values;  // bytes from q to them, if packed
  int inputs;

  explicit Pointers(const Form& f);
  // Of buffers that begin with q, or with dq, at `first`.
  std::array<std::byte*, 3> qkv(std::span<std::byte* const> buffers, size_t first) const;
  const i64* rows(const Args& a, int first) const { return a.in<i64>(first); }  // first: the index of rows
  const i32* starts(const Args& a, int first) const { return has_starts ? a.in<i32>(first + 1) : nullptr; }
  AttentionGradBuffers grad_buffers(const Args& a) const;
};

using CudnnPlanPtr = std::shared_ptr<const CudnnPlan>;

// cuDNN's plans, if it is chosen and has one for each problem, with at most so many bytes of workspace; says which way
// was taken, and why.
std::vector<CudnnPlanPtr> chosen_plans(const Form& f, AttentionChoice choice,
                                       const std::vector<CudnnAttention>& problems, std::optional<i64> most = {});

}  // namespace megalith::cuda
