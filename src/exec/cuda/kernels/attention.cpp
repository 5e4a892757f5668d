// Attention forward and backward: by cuDNN where it can (attention_choice.h), else by kernels of our own.
#include "ops/attention.h"

#include <cmath>

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/attention.h"
#include "exec/cuda/kernels/attention_choice.h"
#include "exec/cuda/kernels/cudnn_attention.h"
#include "exec/cuda/kernels/supported.h"

namespace megalith::cuda {

namespace {

constexpr i64 aligned(i64 bytes) { return (bytes + 255) / 256 * 256; }

// q: the index of the op's input q; k follows.
AttentionCase case_of(const AttentionSpec& at, const Site& site, int q) {
  const Shape qs = site.in_shape(q), ks = site.in_shape(q + 1);
  const Indices positions = indices_of(site, q, 0);
  return {.dtype = site.ins[size_t(q)].dtype,
          .s = qs[0],
          .t = ks[0],
          .d = qs[4],
          .window = at.window,
          .alibi = at.alibi,
          .dropout = at.dropout > 0,
          .documents = at.starts,
          .whole = positions.runs == 1 && positions.start[0] == 0,
          .capability = site.device.capability()};
}

AttentionSizes sizes_of(const AttentionSpec& at, const Site& site, int q) {
  const Type& type = site.ins[size_t(q)];
  const Shape qs = site.in_shape(q), ks = site.in_shape(q + 1);
  check_activation("attention", type.dtype);
  check(qs[4] <= kMaxHeadSize, "[attention] head size {} is above {}", qs[4], kMaxHeadSize);
  constexpr i64 kMost = 65535, kLongest = i64{1} << 30;
  check(qs[1] <= kMost && qs[2] * qs[3] <= kMost && qs[0] <= kLongest && ks[0] <= kLongest,
        "[attention] {} is too large: at most {} samples and heads", to_string(type), kMost);
  AttentionSizes z{.dtype = type.dtype,
                   .s = int(qs[0]),
                   .b = int(qs[1]),
                   .g = int(qs[2]),
                   .r = int(qs[3]),
                   .d = int(qs[4]),
                   .t = int(ks[0]),
                   .scale = float(at.scale),
                   .window = int(std::min(at.window, kLongest)),
                   .alibi = at.alibi,
                   .dropout = at.dropout > 0,
                   .seed = at.seed,
                   .drop_below = u64(std::ceil(at.dropout * 0x1p53)),
                   .keep_scale = float(1 / (1 - at.dropout)),
                   .positions = indices_of(site, q, 0),
                   .groups = indices_of(site, q, 2),
                   .heads = indices_of(site, q, 3)};
  if (at.alibi) {
    check(z.g * z.r <= AttentionSizes::kMaxHeads, "[attention] ALiBi with {} heads on a GPU, at most {}", z.g * z.r,
          AttentionSizes::kMaxHeads);
    const std::vector<double> all = alibi_slopes(type.dim(2) * type.dim(3));
    const auto groups = indices(site.mesh, type.shape, type.layout, site.coord, 2);
    const auto heads = indices(site.mesh, type.shape, type.layout, site.coord, 3);
    for (int i = 0; i < z.g * z.r; ++i)
      z.slopes[i] = float(all[size_t(groups[size_t(i / z.r)] * type.dim(3) + heads[size_t(i % z.r)])]);
  }
  return z;
}

// Two stages of shared memory where they fit.
template <class Bytes>
void choose_stages(AttentionSizes& z, const Device& device, Bytes bytes) {
  for (z.stages = 2; z.stages > 0; --z.stages)
    if (bytes(z) <= device.shared_memory()) return;
  z.stages = 1;
  fail("[attention] head size {} in {} needs {} bytes of shared memory a block, {} has {}", z.d, name_of(z.dtype),
       bytes(z), device.name(), device.shared_memory());
}

Kernel own(const Attention& op, const Site& site) {
  AttentionSizes z = sizes_of(op.at, site, 0);
  choose_stages(z, site.device, attention_shared_bytes);
  return {0, [z, starts = op.at.starts](const Args& a) {
            launch(z,
                   AttentionBuffers{a.ins[0], a.ins[1], a.ins[2], a.in<i64>(3), starts ? a.in<i32>(4) : nullptr,
                                    a.outs[0], a.out<float>(1)},
                   a.stream);
          }};
}

Kernel own(const AttentionGrad& op, const Site& site) {
  AttentionSizes z = sizes_of(op.at, site, 1);
  choose_stages(z, site.device, attention_grad_shared_bytes);
  return {attention_grad_workspace(z), [z, starts = op.at.starts](const Args& a) {
            launch(z,
                   AttentionGradBuffers{a.ins[0], a.ins[1], a.ins[2], a.ins[3], a.ins[4], a.in<float>(5), a.in<i64>(6),
                                        starts ? a.in<i32>(7) : nullptr, a.outs[0], a.outs[1], a.outs[2], a.workspace},
                   a.stream);
          }};
}

CudnnAttention problem_of(const AttentionSpec& at, const Site& site, int q) {
  const Shape n = site.in_shape(q);
  return {.b = n[1],
          .g = n[2],
          .r = n[3],
          .s = n[0],
          .d = n[4],
          .all_b = n[1],
          .all_g = n[2],
          .scale = at.scale,
          .window = at.window >= n[0] ? 0 : at.window};
}

Kernel by_cudnn(const CudnnAttention& p, std::shared_ptr<const CudnnPlan> plan) {
  const i64 heads = p.b * p.g * p.r, stats = aligned(heads * p.s * i64(sizeof(float)));
  return {stats + plan->workspace(), [=](const Args& a) {
            float* packed = reinterpret_cast<float*>(a.workspace);
            void* const tensors[] = {a.ins[0], a.ins[1], a.ins[2], a.outs[0], packed};
            plan->run(a.stream, tensors, a.workspace + stats);
            launch(Transpose{heads, p.s, p.s, 0}, packed, a.out<float>(1), a.stream);
          }};
}

// cuDNN's deterministic backward (before 9.25, on Hopper) keeps all of dS: s x s elements a head. So one run of the
// plan does a part of the samples or of a sample's groups, the largest that a 32nd of the GPU's memory is enough for:
// the smaller the parts, the more of the GPU is idle at each one's end.
constexpr i64 kScoresShare = 32;

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

Kernel grad_by_cudnn(const CudnnAttention& whole, const CudnnAttention& part, std::shared_ptr<const CudnnPlan> plan) {
  const i64 heads = part.b * part.g * part.r, stats = aligned(heads * part.s * i64(sizeof(float)));
  const i64 runs = whole.b * whole.g / (part.b * part.g);
  return {runs * stats + plan->workspace(), [=](const Args& a) {
            launch(Transpose{whole.s, whole.b * whole.g * whole.r, heads, stats / i64(sizeof(float))}, a.in<float>(5),
                   reinterpret_cast<float*>(a.workspace), a.stream);
            for (i64 i = 0; i < runs; ++i) {
              const i64 key = i * part.b * part.g * part.d * size_of(DType::bf16), query = key * part.r;
              void* const tensors[] = {a.ins[1] + query,  a.ins[2] + key,   a.ins[3] + key,
                                       a.ins[4] + query,  a.ins[0] + query, a.workspace + i * stats,
                                       a.outs[0] + query, a.outs[1] + key,  a.outs[2] + key};
              plan->run(a.stream, tensors, a.workspace + runs * stats);
            }
          }};
}

// cuDNN's plan, if it is chosen and cuDNN has one; says which way was taken, and why.
std::shared_ptr<const CudnnPlan> chosen_plan(const AttentionSpec& at, const Site& site, int q,
                                             const CudnnAttention& problem) {
  AttentionPlans& plans = site.device.attention_plans();
  AttentionChoice choice = choose_attention(case_of(at, site, q));
  std::shared_ptr<const CudnnPlan> plan;
  if (choice.cudnn) {
    const AttentionPlans::Found& found = plans.find(problem);
    plan = found.plan;
    if (!plan) choice = {false, "because cuDNN refuses: " + found.refusal};
  }
  plans.say_once(explain(choice, cudnn_version()));
  return plan;
}

}  // namespace

Kernel prepare(const Attention& op, const Site& site) {
  const CudnnAttention p = problem_of(op.at, site, 0);
  if (auto plan = chosen_plan(op.at, site, 0, p)) return by_cudnn(p, plan);
  return own(op, site);
}

Kernel prepare(const AttentionGrad& op, const Site& site) {
  CudnnAttention whole = problem_of(op.at, site, 1), part = whole;
  const Parts parts = cut(whole, site.device.total_bytes() / kScoresShare);
  part.b = parts.b, part.g = parts.g, part.backward = true;
  if (auto plan = chosen_plan(op.at, site, 1, part)) return grad_by_cudnn(whole, part, plan);
  return own(op, site);
}

}  // namespace megalith::cuda
