// Attention forward and backward, by cuDNN or by kernels of our own (attention_choice.h).
#include "exec/cuda/kernels/attention/attention_form.h"
#include "exec/cuda/kernels/attention/attention_hopper.h"
#include "exec/cuda/kernels/attention/attention_padded.h"

namespace megalith::cuda {

namespace {

Kernel own(const DeviceForm& f) {
  AttentionSizes z = sizes_of(f);
  choose_stages(z, f.device, attention_shared_bytes);
  return {0, [z, p = Pointers(f)](const Args& a) {
            const auto [q, k, v] = p.qkv(a.ins, 0);
            launch(z,
                   AttentionBuffers{q, k, v, p.rows(a, p.inputs), p.starts(a, p.inputs), p.lengths(a, p.inputs),
                                    a.outs[0], a.out<float>(1)},
                   a.stream);
          }};
}

Kernel own_grad(const DeviceForm& f) {
  AttentionSizes z = sizes_of(f);
  choose_stages(z, f.device, attention_grad_shared_bytes);
  return {grad_need(AttentionChoice::Way::own, z, f.places()),
          [z, p = Pointers(f)](const Args& a) { launch(z, p.grad_buffers(a), a.stream); }};
}

Kernel grad_by_hopper(const Form& f) {
  const AttentionSizes z = sizes_of(f);
  return {grad_need(AttentionChoice::Way::hopper, z, f.places()), [z, p = Pointers(f)](const Args& a) {
            const AttentionGradBuffers x = p.grad_buffers(a);
            launch_hopper_grad(z, x, hopper_grad_maps(z, x), a.stream);
          }};
}

Kernel by_cudnn(const Form& f, const std::vector<CudnnPlanPtr>& plans) {
  const CudnnAttention c = problem_of(f);
  const i64 heads = c.b * c.g * c.r, stats = stats_bytes(f);
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

Kernel grad_by_cudnn(const Form& f, const CudnnAttention& whole, const CudnnAttention& part, const CudnnPlanPtr& plan) {
  const i64 heads = part.b * part.g * part.r, stats = grad_stats_bytes(part), runs = grad_runs(whole, part);
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

}  // namespace

// Where positions are cut, a place takes as much as others may, whichever way it goes.
Kernel prepare(const Attention& op, const Site& site) {
  if (auto kernel = prepare_padded(op, site)) return *kernel;
  const DeviceForm f(op.at, site, 0, site.outs[0]);
  const AttentionChoice choice = choose_attention(case_of(f, false));
  const std::optional<i64> most = f.is_cut() ? std::optional(kForwardPlanBytes) : std::nullopt;
  const auto plans = chosen_plans(f, choice, run_problems(f), most);
  Kernel kernel = plans.empty() ? own(f) : by_cudnn(f, plans);
  if (most && choice.way == AttentionChoice::Way::cudnn) kernel.workspace = stats_bytes(f) + *most;
  return kernel;
}

Kernel prepare(const AttentionGrad& op, const Site& site) {
  if (auto kernel = prepare_padded(op, site)) return *kernel;
  const DeviceForm f(op.at, site, 1, site.ins[0]);
  const CudnnAttention whole = problem_of(f), part = grad_part(f);
  const AttentionChoice choice = choose_attention(case_of(f, true));
  if (const auto plans = chosen_plans(f, choice, {part}, site.gpu.memory / kMostShare); !plans.empty())
    return grad_by_cudnn(f, whole, part, plans[0]);
  return choice.way == AttentionChoice::Way::hopper ? grad_by_hopper(f) : own_grad(f);
}

}  // namespace megalith::cuda
