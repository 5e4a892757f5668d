// Attention over one block of a ring's keys, and its gradient. Forward by cuDNN, whose result is put together with what
// was there (attention_merge.h), or by our own kernel, which goes on from it; backward by our kernels, as all sums are
// in f32.
#include "ops/attention_part.h"

#include "exec/cuda/kernels/attention_block.h"
#include "exec/cuda/kernels/attention_form.h"
#include "exec/cuda/kernels/attention_hopper.h"
#include "exec/cuda/kernels/attention_merge.h"

namespace megalith::cuda {

namespace {

AttentionCase case_of(const Form& f, const std::optional<SeenBlock>& seen, bool backward) {
  AttentionCase c = case_of(f, backward);
  c.block =
      seen ? seen->causal ? AttentionCase::Block::diagonal : AttentionCase::Block::whole : AttentionCase::Block::ragged;
  if (seen && seen->queries > 0) c.s = seen->queries, c.t = seen->keys;
  return c;
}

// o and lse of keys before, the last two inputs.
struct Before {
  const float *o = nullptr, *lse = nullptr;
};
Before before_of(const AttentionPart& op, const Args& a) {
  if (!op.continues) return {};
  const int n = int(a.ins.size());
  return {a.in<float>(n - 2), a.in<float>(n - 1)};
}

Kernel own(const AttentionPart& op, const Form& f) {
  AttentionSizes z = sizes_of(f);
  z.wide = !op.last;
  choose_stages(z, f.site.device, attention_shared_bytes);
  return {0, [z, op, p = Pointers(f)](const Args& a) {
            const auto [q, k, v] = p.qkv(a.ins, 0);
            const Before before = before_of(op, a);
            launch(z,
                   AttentionBuffers{q, k, v, p.rows(a, p.inputs), p.starts(a, p.inputs), a.outs[0], a.out<float>(1),
                                    before.o, before.lse},
                   a.stream);
          }};
}

CudnnAttention problem_of(const Form& f, const SeenBlock& seen) {
  CudnnAttention c = problem_of(f);
  c.s = seen.queries, c.t = seen.keys, c.causal = seen.causal;
  return c;
}

// `plan`: null if no query sees any key.
Kernel by_cudnn(const AttentionPart& op, const Form& f, const SeenBlock& seen, const CudnnPlanPtr& plan) {
  const AttentionMerge merge{f.sizes[0], f.sizes[1] * f.heads(), seen.query, seen.queries, int(f.sizes[4]), !op.last};
  const i64 row = merge.heads * merge.d * size_of(DType::bf16), first = seen.query * row;
  const i64 part = aligned(seen.queries * row), stats = aligned(seen.queries * merge.heads * i64(sizeof(float)));
  return {part + stats + (plan ? plan->workspace() : 0), [=](const Args& a) {
            std::byte *o = a.workspace, *lse = o + part;
            void* const tensors[] = {a.ins[0] + first, a.ins[1], a.ins[2], o, lse};
            if (plan) plan->run(a.stream, tensors, lse + stats);
            const Before before = before_of(op, a);
            launch(merge,
                   AttentionMergeBuffers{o, reinterpret_cast<const float*>(lse), before.o, before.lse, a.outs[0],
                                         a.out<float>(1)},
                   a.stream);
          }};
}

Kernel own_grad(const Form& f) {
  AttentionSizes z = sizes_of(f);
  z.wide = true;
  choose_stages(z, f.site.device, attention_grad_shared_bytes);
  return {attention_grad_workspace(z), [z, p = Pointers(f)](const Args& a) { launch(z, p.grad_buffers(a), a.stream); }};
}

// Rows [begin, end) of `all` rows of `bytes` bytes have values; the others become 0.
void clear_others(std::byte* to, i64 begin, i64 end, i64 all, i64 bytes, cudaStream_t stream) {
  const auto clear = [&](i64 from, i64 until) {
    if (from < until)
      check_cuda(cudaMemsetAsync(to + from * bytes, 0, size_t((until - from) * bytes), stream),
                 "[attention_part_grad] zeros");
  };
  clear(0, begin), clear(end, all);
}

// The kernel for Hopper sees a sequence of as many keys as there are: the queries lie at its end or, where they see all
// keys, behind it.
Kernel grad_by_hopper(const Form& f, const SeenBlock& seen) {
  AttentionSizes z = sizes_of(f);
  z.s = int(seen.queries), z.t = int(seen.keys), z.wide = true;
  z.positions = {.n = seen.queries, .runs = 1, .start = {seen.causal ? seen.keys - seen.queries : seen.keys}};
  z.keys = {.n = seen.keys, .runs = 1};
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

}  // namespace

Kernel prepare(const AttentionPart& op, const Site& site) {
  check(!op.at.packed(), "[attention_part] q, k and v in one tensor: a ring needs them apart");
  const Form f(op.at, site, 0, site.outs[0]);
  const auto seen = seen_block(f.indices(0), f.keys());
  const AttentionChoice choice = choose_attention(case_of(f, seen, false));
  if (seen && seen->queries == 0 && choice.way == AttentionChoice::Way::cudnn) return by_cudnn(op, f, *seen, nullptr);
  const auto plans = chosen_plans(f, choice, {problem_of(f, seen.value_or(SeenBlock{}))});
  return plans.empty() ? own(op, f) : by_cudnn(op, f, *seen, plans[0]);
}

Kernel prepare(const AttentionPartGrad& op, const Site& site) {
  check(!op.at.packed(), "[attention_part_grad] q, k and v in one tensor: a ring needs them apart");
  const Form f(op.at, site, 1, site.ins[0]);
  const auto seen = seen_block(f.indices(0), f.keys());
  const AttentionChoice choice = choose_attention(case_of(f, seen, true));
  f.site.device.attention_plans().say_once(explain(choice, cudnn_version()));
  return choice.way == AttentionChoice::Way::hopper ? grad_by_hopper(f, *seen) : own_grad(f);
}

}  // namespace megalith::cuda
