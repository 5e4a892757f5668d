#include "exec/cuda/kernels/attention/attention_form.h"

namespace megalith::cuda {

void choose_stages(AttentionSizes& z, const Device& device, i64 (*bytes)(const AttentionSizes&)) {
  for (z.stages = 2; z.stages > 0; --z.stages)
    if (bytes(z) <= device.shared_memory()) return;
  z.stages = 1;
  fail("[attention] head size {} in {} needs {} bytes of shared memory a block, {} has {}", z.d, name_of(z.dtype),
       bytes(z), device.name(), device.shared_memory());
}

Pointers::Pointers(const Form& f)
    : packed(f.at.packed()),
      starts_at(f.at.starts ? 1 : 0),
      lengths_at(f.at.lengths ? f.at.lengths_at() : 0),
      table_at(f.at.buckets ? f.at.table_at() : 0),
      inputs(f.inputs()) {
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
  return {a.ins[0],          q,  k,  v,  a.ins[size_t(o)], a.in<float>(o + 1), rows(a, o + 2), starts(a, o + 2),
          lengths(a, o + 2), dq, dk, dv, a.workspace};
}

std::vector<CudnnPlanPtr> chosen_plans(const DeviceForm& f, AttentionChoice choice,
                                       const std::vector<CudnnAttention>& problems, std::optional<i64> most) {
  AttentionPlans& known = f.device.attention_plans();
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
