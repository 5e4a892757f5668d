// Attention over one block of a ring's keys, and its gradient. The forward uses cuDNN, whose result is merged with
// the earlier one (attention_merge.h), or our kernel, which continues from it. The backward uses our kernels, because
// all sums are f32.
#include "ops/attention_part.h"

#include "exec/cuda/kernels/attention/attention_form.h"
#include "exec/cuda/kernels/attention/attention_hopper.h"
#include "exec/cuda/kernels/attention/attention_merge.h"
#include "exec/cuda/kernels/attention/attention_padded.h"

namespace megalith::cuda {

namespace {

// o and lse of earlier keys, the last two inputs.
struct Before {
  const float *o = nullptr, *lse = nullptr;
};
Before before_of(const AttentionPart& op, const Args& a) {
  if (!op.continues) return {};
  const int n = int(a.ins.size());
  return {a.in<float>(n - 2), a.in<float>(n - 1)};
}

Kernel own(const AttentionPart& op, const DeviceForm& f) {
  AttentionSizes z = sizes_of(f);
  z.wide = !op.last;
  choose_stages(z, f.device, attention_shared_bytes);
  return {0, [z, op, p = Pointers(f)](const Args& a) {
            const auto [q, k, v] = p.qkv(a.ins, 0);
            const Before before = before_of(op, a);
            launch(z,
                   AttentionBuffers{q, k, v, p.rows(a, p.inputs), p.starts(a, p.inputs), nullptr, a.outs[0],
                                    a.out<float>(1), before.o, before.lse},
                   a.stream);
          }};
}

// `plan`: null if no query sees any key.
Kernel by_cudnn(const AttentionPart& op, const Form& f, const SeenBlock& seen, const CudnnPlanPtr& plan) {
  const AttentionMerge merge{f.sizes[0], f.sizes[1] * f.heads(), seen.query, seen.queries, int(f.sizes[4]), !op.last,
                             f.dtype()};
  const i64 row = merge.heads * merge.d * size_of(DType::bf16), first = seen.query * row;
  const PartWorkspace at = part_workspace(sizes_of(f), seen);
  return {at.bytes(), [=](const Args& a) {
            std::byte *o = a.workspace, *lse = o + at.o;
            void* const tensors[] = {a.ins[0] + first, a.ins[1], a.ins[2], o, lse};
            if (plan) plan->run(a.stream, tensors, lse + at.lse);
            const Before before = before_of(op, a);
            launch(merge,
                   AttentionMergeBuffers{o, reinterpret_cast<const float*>(lse), before.o, before.lse, a.outs[0],
                                         a.out<float>(1)},
                   a.stream);
          }};
}

Kernel own_grad(const DeviceForm& f) {
  AttentionSizes z = sizes_of(f);
  z.wide = true;
  choose_stages(z, f.device, attention_grad_shared_bytes);
  return {attention_grad_workspace(z), [z, p = Pointers(f)](const Args& a) { launch(z, p.grad_buffers(a), a.stream); }};
}

// Of `all` rows of `bytes` bytes those in [begin, end) have values; this clears the others.
void clear_others(std::byte* to, i64 begin, i64 end, i64 all, i64 bytes, cudaStream_t stream) {
  const auto clear = [&](i64 from, i64 until) {
    if (from < until)
      check_cuda(cudaMemsetAsync(to + from * bytes, 0, size_t((until - from) * bytes), stream),
                 "[attention_part_grad] zeros");
  };
  clear(0, begin), clear(end, all);
}

Kernel grad_by_hopper(const Form& f, const SeenBlock& seen) {
  const AttentionSizes z = hopper_sizes(sizes_of(f), seen);
  const i64 heads = f.sizes[1] * f.heads(), keys = f.sizes[1] * f.groups(), d = f.sizes[4];
  const bool any = seen.queries > 0;
  return {any ? hopper_grad_workspace(z) : 0, [=, all_s = f.sizes[0], all_t = f.t, p = Pointers(f)](const Args& a) {
            const i64 wide = d * i64(sizeof(float)), narrow = d * size_of(DType::bf16);
            AttentionGradBuffers x = p.grad_buffers(a);
            clear_others(a.outs[0], seen.query, seen.query + seen.queries, all_s, heads * wide, a.stream);
            for (int i : {1, 2}) clear_others(a.outs[size_t(i)], 0, seen.keys, all_t, keys * wide, a.stream);
            if (!any) return;
            const i64 first = seen.query * heads;
            x.dout = a.ins[0] + first * narrow, x.q = a.ins[1] + first * narrow, x.o = a.ins[4] + first * narrow;
            x.lse += first, x.dq = a.outs[0] + first * wide;
            launch_hopper_grad(z, x, hopper_grad_maps(z, x), a.stream);
          }};
}

// The kernel of every rank reserves the maximum over ranks.
Kernel planned_alike(Kernel kernel, const Form& f, const AttentionCase& c) {
  const i64 need = part_need(c, sizes_of(f), f.places());
  check(kernel.workspace <= need, "[attention_part] asks for {} bytes of workspace, places were thought to need {}",
        kernel.workspace, need);
  kernel.workspace = need;
  return kernel;
}

Kernel forward(const AttentionPart& op, const DeviceForm& f, const AttentionCase& c) {
  const auto seen = seen_block(f.indices(0), f.keys());
  const AttentionChoice choice = choose_attention(case_of_block(c, seen));
  if (seen && seen->queries == 0 && choice.way == AttentionChoice::Way::cudnn) return by_cudnn(op, f, *seen, nullptr);
  const auto plans = chosen_plans(f, choice, {problem_of(f, seen.value_or(SeenBlock{}))}, kForwardPlanBytes);
  return plans.empty() ? own(op, f) : by_cudnn(op, f, *seen, plans[0]);
}

}  // namespace

Kernel prepare(const AttentionPart& op, const KernelContext& context) {
  if (auto kernel = prepare_padded(op, context)) return *kernel;
  check(!op.at.packed(), "[attention_part] q, k and v in one tensor: a ring needs them apart");
  const DeviceForm f(op.at, context, 0, context.outs[0]);
  const AttentionCase c = case_of(f, false);
  return planned_alike(forward(op, f, c), f, c);
}

Kernel prepare(const AttentionPartGrad& op, const KernelContext& context) {
  if (auto kernel = prepare_padded(op, context)) return *kernel;
  check(!op.at.packed(), "[attention_part_grad] q, k and v in one tensor: a ring needs them apart");
  const DeviceForm f(op.at, context, 1, context.ins[0]);
  const auto seen = seen_block(f.indices(0), f.keys());
  const AttentionCase c = case_of(f, true);
  const AttentionChoice choice = choose_attention(case_of_block(c, seen));
  f.device.attention_plans().say_once(explain(choice, cudnn_version()));
  return planned_alike(choice.way == AttentionChoice::Way::hopper ? grad_by_hopper(f, *seen) : own_grad(f), f, c);
}

}  // namespace megalith::cuda
