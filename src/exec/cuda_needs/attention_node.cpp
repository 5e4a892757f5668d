#include "exec/cuda_needs/attention_node.h"

#include <cmath>

#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Form::Form(const AttentionSpec& spec, const LocalNode& where, int first, const Type& result)
    : at(spec), context(where), q(first), o(result), sizes(local_shape(where.mesh, result.shape, result.layout)) {
  t = context.in_shape(at.packed() ? q : q + 1)[0];
  check(!at.packed() || (context.in_shape(q)[2] == heads() + 2 * groups() && sizes[0] == t),
        "[attention] packed {} does not hold the {} + 2 * {} heads of {}", to_string(context.ins[size_t(q)]), heads(),
        groups(), to_string(o));
}

RelativeBuckets Form::buckets() const { return relative_buckets(at, std::max(o.dim(0), k().dim(0)) - 1); }

AttentionCase case_of(const Form& f, bool backward) {
  return {.dtype = f.dtype(),
          .s = shortest_run(f.places()),
          .t = f.t,
          .d = f.sizes[4],
          .causal = f.at.causal,
          .window = f.at.window,
          .alibi = f.at.alibi,
          .dropout = f.at.dropout > 0,
          .documents = f.at.starts,
          .lengths = f.at.lengths,
          .relative = f.at.buckets > 0,
          .cut = f.is_cut(),
          .backward = backward,
          .capability = f.context.gpu.capability};
}

AttentionSizes sizes_of(const Form& f) {
  const AttentionSpec& at = f.at;
  const Shape& n = f.sizes;
  check_activation("attention", f.dtype());
  check(n[4] <= kMaxHeadSize, "[attention] head size {} is above {}", n[4], kMaxHeadSize);
  constexpr i64 kMost = 65535, kLongest = i64{1} << 30;
  check(n[1] <= kMost && n[2] * n[3] <= kMost && n[0] <= kLongest && f.t <= kLongest,
        "[attention] {} is too large: at most {} samples and heads", to_string(f.o), kMost);
  AttentionSizes z{.dtype = f.dtype(),
                   .s = int(n[0]),
                   .b = int(n[1]),
                   .g = int(n[2]),
                   .r = int(n[3]),
                   .d = int(n[4]),
                   .t = int(f.t),
                   .scale = float(at.scale),
                   .causal = at.causal,
                   .window = int(std::min(at.window, kLongest)),
                   .alibi = at.alibi,
                   .alibi_scaled = at.alibi_scaled,
                   .dropout = at.dropout > 0,
                   .seed = at.seed,
                   .drop_below = u64(std::ceil(at.dropout * 0x1p53)),
                   .keep_scale = float(1 / (1 - at.dropout)),
                   .positions = f.indices(0),
                   .groups = f.indices(2),
                   .heads = f.indices(3),
                   .keys = f.keys(),
                   .query_heads = int(f.query_heads()),
                   .key_heads = int(f.key_heads())};
  z.reach = f.buckets().reach;
  check(z.reach == 0 || z.keys.runs <= 1, "[attention] relative positions of keys in {} runs have no CUDA kernel",
        z.keys.runs);
  if (at.alibi) {
    check(z.g * z.r <= AttentionSizes::kMaxHeads, "[attention] ALiBi with {} heads on a GPU, at most {}", z.g * z.r,
          AttentionSizes::kMaxHeads);
    const std::vector<double> all = alibi_slopes(at, f.o.dim(2) * f.o.dim(3));
    const auto groups = indices(f.context.mesh, f.o.shape, f.o.layout, f.context.coord, 2);
    const auto heads = indices(f.context.mesh, f.o.shape, f.o.layout, f.context.coord, 3);
    for (int i = 0; i < z.g * z.r; ++i)
      z.slopes[i] = float(all[size_t(groups[size_t(i / z.r)] * f.o.dim(3) + heads[size_t(i % z.r)])]);
  }
  return z;
}

CudnnAttention problem_of(const Form& f) {
  const Shape& n = f.sizes;
  return {.b = n[1],
          .g = n[2],
          .r = n[3],
          .s = n[0],
          .t = f.t,
          .d = n[4],
          .all_b = n[1],
          .all_g = n[2],
          .query_heads = f.query_heads(),
          .key_heads = f.key_heads(),
          .dtype = f.dtype(),
          .scale = f.at.scale,
          .window = f.at.window >= f.t ? 0 : f.at.window,
          .causal = f.at.causal,
          .lengths = f.at.lengths,
          .bias = f.at.buckets > 0};
}

std::vector<CudnnAttention> run_problems(const Form& f) {
  const Indices positions = f.indices(0);
  std::vector<CudnnAttention> out(size_t(positions.runs), problem_of(f));
  for (int i = 0; i < positions.runs; ++i)
    out[size_t(i)].s = positions.length(i),
    out[size_t(i)].t = f.at.causal ? positions.start[i] + positions.length(i) : f.t;
  return out;
}

i64 ends_bytes(const Form& f) { return f.at.lengths ? aligned(2 * f.sizes[1] * i64(sizeof(i32))) : 0; }

i64 biases_bytes(const Form& f) {
  return f.at.buckets ? aligned(f.heads() * f.sizes[0] * f.t * size_of(DType::bf16)) : 0;
}

i64 stats_bytes(const Form& f) { return aligned(f.sizes[0] * f.sizes[1] * f.heads() * i64(sizeof(float))); }

namespace {

struct Parts {
  i64 b, g;  // of one run
};
Parts cut(const CudnnAttention& p, i64 budget) {
  const i64 padded = (p.s + 127) / 128 * 128, group = p.r * padded * padded * size_of(DType::bf16);
  const auto largest = [](i64 n, i64 most) {
    while (n % most != 0) --most;
    return most;
  };
  const i64 fit = std::max<i64>(1, budget / group);
  if (fit >= p.g) return {largest(p.b, std::min(p.b, fit / p.g)), p.g};
  return {1, largest(p.g, fit)};
}

}  // namespace

CudnnAttention grad_part(const Form& f) {
  CudnnAttention part = problem_of(f);
  const Parts parts = cut(part, f.context.gpu.memory / kScoresShare);
  part.b = parts.b, part.g = parts.g, part.backward = true;
  return part;
}

i64 grad_runs(const CudnnAttention& whole, const CudnnAttention& part) { return whole.b * whole.g / (part.b * part.g); }

i64 grad_stats_bytes(const CudnnAttention& part) {
  return aligned(part.b * part.g * part.r * part.s * i64(sizeof(float)));
}

CudnnAttention problem_of(const Form& f, const SeenBlock& seen) {
  CudnnAttention c = problem_of(f);
  c.s = seen.queries, c.t = seen.keys, c.causal = seen.causal;
  return c;
}

}  // namespace megalith::cuda
