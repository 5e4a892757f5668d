// Attention forward and backward, by cuDNN or by kernels of our own (attention_choice.h).
#include "ops/attention.h"

#include <array>
#include <cmath>

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/attention.h"
#include "exec/cuda/kernels/attention_choice.h"
#include "exec/cuda/kernels/attention_hopper.h"
#include "exec/cuda/kernels/cudnn_attention.h"
#include "exec/cuda/kernels/supported.h"

namespace megalith::cuda {

namespace {

constexpr i64 aligned(i64 bytes) { return (bytes + 255) / 256 * 256; }

// Where attention's operands lie: three tensors, or one that holds them all. `q`: the index of the op's input q or qkv;
// `o` the type of attention's result.
struct Form {
  const AttentionSpec& at;
  const Site& site;
  int q;
  const Type& o;
  Shape sizes;  // s, b, g, r, d
  i64 t;        // keys

  Form(const AttentionSpec& spec, const Site& where, int first, const Type& result)
      : at(spec), site(where), q(first), o(result), sizes(local_shape(where.mesh, result.shape, result.layout)) {
    t = site.in_shape(at.packed() ? q : q + 1)[0];
    check(!at.packed() || (site.in_shape(q)[2] == heads() + 2 * groups() && sizes[0] == t),
          "[attention] packed {} does not hold the {} + 2 * {} heads of {}", to_string(site.ins[size_t(q)]), heads(),
          groups(), to_string(o));
  }
  DType dtype() const { return site.ins[size_t(q)].dtype; }
  i64 groups() const { return sizes[2]; }
  i64 heads() const { return sizes[2] * sizes[3]; }
  i64 query_heads() const { return at.packed() ? heads() + 2 * groups() : heads(); }
  i64 key_heads() const { return at.packed() ? query_heads() : groups(); }
  int inputs() const { return at.packed() ? 1 : 3; }  // q, k and v together

  Indices indices(int dim) const { return indices_of(site, o, dim); }
};

AttentionCase case_of(const Form& f, bool backward) {
  const Indices positions = f.indices(0);
  i64 shortest = f.sizes[0];
  for (int i = 0; i < positions.runs; ++i) shortest = std::min(shortest, positions.length(i));
  return {.dtype = f.dtype(),
          .s = shortest,
          .t = f.t,
          .d = f.sizes[4],
          .window = f.at.window,
          .alibi = f.at.alibi,
          .dropout = f.at.dropout > 0,
          .documents = f.at.starts,
          .backward = backward,
          .capability = f.site.device.capability()};
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
                   .window = int(std::min(at.window, kLongest)),
                   .alibi = at.alibi,
                   .dropout = at.dropout > 0,
                   .seed = at.seed,
                   .drop_below = u64(std::ceil(at.dropout * 0x1p53)),
                   .keep_scale = float(1 / (1 - at.dropout)),
                   .positions = f.indices(0),
                   .groups = f.indices(2),
                   .heads = f.indices(3),
                   .query_heads = int(f.query_heads()),
                   .key_heads = int(f.key_heads())};
  if (at.alibi) {
    check(z.g * z.r <= AttentionSizes::kMaxHeads, "[attention] ALiBi with {} heads on a GPU, at most {}", z.g * z.r,
          AttentionSizes::kMaxHeads);
    const std::vector<double> all = alibi_slopes(f.o.dim(2) * f.o.dim(3));
    const auto groups = indices(f.site.mesh, f.o.shape, f.o.layout, f.site.coord, 2);
    const auto heads = indices(f.site.mesh, f.o.shape, f.o.layout, f.site.coord, 3);
    for (int i = 0; i < z.g * z.r; ++i)
      z.slopes[i] = float(all[size_t(groups[size_t(i / z.r)] * f.o.dim(3) + heads[size_t(i % z.r)])]);
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

// What of a Form a kernel needs when it runs.
struct Pointers {
  bool packed, starts;
  i64 keys, values;  // bytes from q to them, if packed
  int inputs;

  explicit Pointers(const Form& f) : packed(f.at.packed()), starts(f.at.starts), inputs(f.inputs()) {
    const i64 head = f.sizes[4] * size_of(f.dtype());
    keys = f.heads() * head, values = keys + f.groups() * head;
  }
  std::array<std::byte*, 3> qkv(std::span<std::byte* const> buffers, size_t first) const {
    std::byte* q = buffers[first];
    if (packed) return {q, q + keys, q + values};
    return {q, buffers[first + 1], buffers[first + 2]};
  }
};

Kernel own(const Form& f) {
  AttentionSizes z = sizes_of(f);
  choose_stages(z, f.site.device, attention_shared_bytes);
  return {0, [z, p = Pointers(f)](const Args& a) {
            const auto [q, k, v] = p.qkv(a.ins, 0);
            launch(z,
                   AttentionBuffers{q, k, v, a.in<i64>(p.inputs), p.starts ? a.in<i32>(p.inputs + 1) : nullptr,
                                    a.outs[0], a.out<float>(1)},
                   a.stream);
          }};
}

AttentionGradBuffers grad_buffers(const Pointers& p, const Args& a) {
  const auto [q, k, v] = p.qkv(a.ins, 1);
  const auto [dq, dk, dv] = p.qkv(a.outs, 0);
  const int o = 1 + p.inputs;
  return {a.ins[0],
          q,
          k,
          v,
          a.ins[size_t(o)],
          a.in<float>(o + 1),
          a.in<i64>(o + 2),
          p.starts ? a.in<i32>(o + 3) : nullptr,
          dq,
          dk,
          dv,
          a.workspace};
}

Kernel own_grad(const Form& f) {
  AttentionSizes z = sizes_of(f);
  choose_stages(z, f.site.device, attention_grad_shared_bytes);
  return {attention_grad_workspace(z),
          [z, p = Pointers(f)](const Args& a) { launch(z, grad_buffers(p, a), a.stream); }};
}

Kernel grad_by_hopper(const Form& f) {
  const AttentionSizes z = sizes_of(f);
  return {hopper_grad_workspace(z), [z, p = Pointers(f)](const Args& a) {
            const AttentionGradBuffers x = grad_buffers(p, a);
            launch_hopper_grad(z, x, hopper_grad_maps(z, x), a.stream);
          }};
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
          .scale = f.at.scale,
          .window = f.at.window >= f.t ? 0 : f.at.window};
}

using CudnnPlanPtr = std::shared_ptr<const CudnnPlan>;

// Of the forward, one for each run of positions: what its queries see ends with the run.
std::vector<CudnnAttention> run_problems(const Form& f) {
  const Indices positions = f.indices(0);
  std::vector<CudnnAttention> out(size_t(positions.runs), problem_of(f));
  for (int i = 0; i < positions.runs; ++i)
    out[size_t(i)].s = positions.length(i), out[size_t(i)].t = positions.start[i] + positions.length(i);
  return out;
}

Kernel by_cudnn(const Form& f, const std::vector<CudnnPlanPtr>& plans) {
  const CudnnAttention c = problem_of(f);
  const i64 heads = c.b * c.g * c.r, stats = aligned(heads * c.s * i64(sizeof(float)));
  i64 workspace = 0;
  for (const CudnnPlanPtr& plan : plans) workspace = std::max(workspace, plan->workspace());
  return {
      stats + workspace, [=, p = Pointers(f), positions = f.indices(0)](const Args& a) {
        float* packed = reinterpret_cast<float*>(a.workspace);
        const auto [q, k, v] = p.qkv(a.ins, 0);
        for (int i = 0; i < positions.runs; ++i) {
          const i64 first = positions.place[i] * c.b, length = positions.length(i);  // first: row of samples
          const i64 head = c.d * size_of(DType::bf16);
          void* const tensors[] = {q + first * c.query_heads * head, k, v, a.outs[0] + first * c.g * c.r * head,
                                   packed};
          plans[size_t(i)]->run(a.stream, tensors, a.workspace + stats);
          launch(Transpose{heads, length, length, 0}, packed, a.out<float>(1) + positions.place[i] * heads, a.stream);
        }
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

Kernel grad_by_cudnn(const Form& f, const CudnnAttention& whole, const CudnnAttention& part, const CudnnPlanPtr& plan) {
  const i64 heads = part.b * part.g * part.r, stats = aligned(heads * part.s * i64(sizeof(float)));
  const i64 runs = whole.b * whole.g / (part.b * part.g);
  return {runs * stats + plan->workspace(), [=, p = Pointers(f)](const Args& a) {
            const auto [q, k, v] = p.qkv(a.ins, 1);
            const auto [dq, dk, dv] = p.qkv(a.outs, 0);
            const size_t o = size_t(1 + p.inputs);
            launch(Transpose{whole.s, whole.b * whole.g * whole.r, heads, stats / i64(sizeof(float))},
                   a.in<float>(int(o + 1)), reinterpret_cast<float*>(a.workspace), a.stream);
            for (i64 i = 0; i < runs; ++i) {
              const i64 pair = i * part.b * part.g, b = pair / whole.g, g = pair % whole.g;
              const i64 bytes = part.d * size_of(DType::bf16), out = pair * part.r * bytes;
              const i64 query = (b * whole.query_heads + g * part.r) * bytes, key = (b * whole.key_heads + g) * bytes;
              void* const tensors[] = {q + query,      k + key,        v + key,
                                       a.ins[o] + out, a.ins[0] + out, a.workspace + i * stats,
                                       dq + query,     dk + key,       dv + key};
              plan->run(a.stream, tensors, a.workspace + runs * stats);
            }
          }};
}

// cuDNN's plans, if it is chosen and has one for each problem; says which way was taken, and why.
std::vector<CudnnPlanPtr> chosen_plans(const Form& f, AttentionChoice choice,
                                       const std::vector<CudnnAttention>& problems) {
  AttentionPlans& known = f.site.device.attention_plans();
  std::vector<CudnnPlanPtr> plans;
  for (const CudnnAttention& problem : problems) {
    if (choice.way != AttentionChoice::Way::cudnn) break;
    const AttentionPlans::Found& found = known.find(problem);
    plans.push_back(found.plan);
    if (!found.plan) choice = {AttentionChoice::Way::own, "because cuDNN refuses: " + found.refusal};
  }
  known.say_once(explain(choice, cudnn_version()));
  return choice.way == AttentionChoice::Way::cudnn ? plans : std::vector<CudnnPlanPtr>{};
}

}  // namespace

Kernel prepare(const Attention& op, const Site& site) {
  const Form f(op.at, site, 0, site.outs[0]);
  const auto plans = chosen_plans(f, choose_attention(case_of(f, false)), run_problems(f));
  return plans.empty() ? own(f) : by_cudnn(f, plans);
}

Kernel prepare(const AttentionGrad& op, const Site& site) {
  const Form f(op.at, site, 1, site.ins[0]);
  CudnnAttention whole = problem_of(f), part = whole;
  const Parts parts = cut(whole, site.device.total_bytes() / kScoresShare);
  part.b = parts.b, part.g = parts.g, part.backward = true;
  const AttentionChoice choice = choose_attention(case_of(f, true));
  if (const auto plans = chosen_plans(f, choice, {part}); !plans.empty())
    return grad_by_cudnn(f, whole, part, plans[0]);
  return choice.way == AttentionChoice::Way::hopper ? grad_by_hopper(f) : own_grad(f);
}

}  // namespace megalith::cuda
