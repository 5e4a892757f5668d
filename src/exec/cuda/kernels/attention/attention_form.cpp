#include "exec/cuda/kernels/attention/attention_form.h"

#include <cmath>

#include "exec/cuda/kernels/supported.h"

namespace megalith::cuda {

Form::Form(const AttentionSpec& spec, const Site& where, int first, const Type& result)
    : at(spec), site(where), q(first), o(result), sizes(local_shape(where.mesh, result.shape, result.layout)) {
  t = site.in_shape(at.packed() ? q : q + 1)[0];
  check(!at.packed() || (site.in_shape(q)[2] == heads() + 2 * groups() && sizes[0] == t),
        "[attention] packed {} does not hold the {} + 2 * {} heads of {}", to_string(site.ins[size_t(q)]), heads(),
        groups(), to_string(o));
}

AttentionCase case_of(const Form& f, bool backward) {
  return {.dtype = f.dtype(),
          .s = shortest_run(f.places()),
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
  if (at.alibi) {
    check(z.g * z.r <= AttentionSizes::kMaxHeads, "[attention] ALiBi with {} heads on a GPU, at most {}", z.g * z.r,
          AttentionSizes::kMaxHeads);
    const std::vector<double> all = alibi_slopes(at, f.o.dim(2) * f.o.dim(3));
    const auto groups = indices(f.site.mesh, f.o.shape, f.o.layout, f.site.coord, 2);
    const auto heads = indices(f.site.mesh, f.o.shape, f.o.layout, f.site.coord, 3);
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
          .scale = f.at.scale,
          .window = f.at.window >= f.t ? 0 : f.at.window};
}

void choose_stages(AttentionSizes& z, const Device& device, i64 (*bytes)(const AttentionSizes&)) {
  for (z.stages = 2; z.stages > 0; --z.stages)
    if (bytes(z) <= device.shared_memory()) return;
  z.stages = 1;
  fail("[attention] head size {} in {} needs {} bytes of shared memory a block, {} has {}", z.d, name_of(z.dtype),
       bytes(z), device.name(), device.shared_memory());
}

Pointers::Pointers(const Form& f) : packed(f.at.packed()), has_starts(f.at.starts), inputs(f.inputs()) {
  const i64 head = f.sizes[4] * size_of(f.dtype());
  keys = f.heads() * head, values = keys + f.groups() * head;
}

std::array<std::byte*, 3> Pointers::qkv(std::span<std::byte* const> buffers, size_t first) const {
  std::byte* q = buffers[first];
  if (packed) return {q, q + keys, q + values};
  return {q, buffers[first + 1], buffers[first + 2]};
}

AttentionGradBuffers Pointers::grad_buffers(const Args& a) const {
  const auto [q, k, v] = qkv(a.ins, 1);
  const auto [dq, dk, dv] = qkv(a.outs, 0);
  const int o = 1 + inputs;
  return {a.ins[0],         q,  k,  v,  a.ins[size_t(o)], a.in<float>(o + 1), rows(a, o + 2),
          starts(a, o + 2), dq, dk, dv, a.workspace};
}

std::vector<CudnnPlanPtr> chosen_plans(const Form& f, AttentionChoice choice,
                                       const std::vector<CudnnAttention>& problems, std::optional<i64> most) {
  AttentionPlans& known = f.site.device.attention_plans();
  std::vector<CudnnPlanPtr> plans;
  for (const CudnnAttention& problem : problems) {
    if (choice.way != AttentionChoice::Way::cudnn) break;
    const AttentionPlans::Found& found = known.find(problem);
    plans.push_back(found.plan);
    if (!found.plan) choice = {AttentionChoice::Way::own, "because cuDNN refuses: " + found.refusal};
    if (const i64 asked = found.plan ? found.plan->workspace() : 0; most && asked > *most)
      choice = {AttentionChoice::Way::own,
                fmt::format("because cuDNN asks for {} bytes of workspace, {} are set aside", asked, *most)};
  }
  known.say_once(explain(choice, cudnn_version()));
  return choice.way == AttentionChoice::Way::cudnn ? plans : std::vector<CudnnPlanPtr>{};
}

}  // namespace megalith::cuda
