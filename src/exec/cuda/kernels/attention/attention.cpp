// Attention forward and backward, by cuDNN or by kernels of our own (attention_choice.h).
#include "exec/cuda/kernels/attention/attention_form.h"
#include "exec/cuda/kernels/attention/attention_hopper.h"
#include "exec/cuda/kernels/attention/attention_padded.h"
#include "exec/cuda/kernels/attention/relative_bias.h"
#include "exec/cuda/kernels/attention/sequence_ends.h"

namespace megalith::cuda {

namespace {

// Scores are kept multiplied by this, for exp2.
constexpr float kLog2OfE = 1.44269504088896341f;

// The table of relative positions, or that of its gradient.
RelativeTable table_of(const Form& f, const Type& type) { return {f.buckets(), int(f.heads()), type.dtype}; }

Kernel own(const DeviceForm& f) {
  AttentionSizes z = sizes_of(f);
  choose_stages(z, f.device, attention_shared_bytes);
  return {attention_workspace(z), [z, p = Pointers(f), table = table_of(f, f.context.ins.back())](const Args& a) {
            const auto [q, k, v] = p.qkv(a.ins, 0);
            float* bias = reinterpret_cast<float*>(a.workspace);
            if (z.reach > 0) spread_biases(table, p.table(a, p.inputs), kLog2OfE, bias, a.stream);
            launch(z,
                   AttentionBuffers{q, k, v, p.rows(a, p.inputs), p.starts(a, p.inputs), p.lengths(a, p.inputs),
                                    a.outs[0], a.out<float>(1), nullptr, nullptr, bias},
                   a.stream);
          }};
}

Kernel own_grad(const DeviceForm& f) {
  AttentionSizes z = sizes_of(f);
  choose_stages(z, f.device, attention_grad_shared_bytes);
  const i64 need = grad_need(AttentionChoice::Way::own, z, f.places());
  if (z.reach == 0) return {need, [z, p = Pointers(f)](const Args& a) { launch(z, p.grad_buffers(a), a.stream); }};
  const i64 behind = aligned(attention_stats_bytes(z) + attention_spans_bytes(z));
  return {need, [=, p = Pointers(f), at = relative_space(z), table = table_of(f, f.context.ins.back()),
                 dtable = table_of(f, f.context.outs.back())](const Args& a) {
            AttentionGradBuffers x = p.grad_buffers(a);
            float* const bias = reinterpret_cast<float*>(a.workspace + behind);
            float* const grads = bias + at.bias / i64(sizeof(float));
            float* const by_distance = grads + at.sums / i64(sizeof(float));
            check_cuda(cudaMemsetAsync(grads, 0, size_t(at.sums), a.stream), "[attention_grad] zeros");
            spread_biases(table, p.table(a, 3 + p.inputs), kLog2OfE, bias, a.stream);
            x.bias = bias, x.bias_grads = grads, x.strips = at.strips;
            launch(z, x, a.stream);
            sum_biases(dtable, z.b, at.strips, grads, by_distance, a.outs.back(), a.stream);
          }};
}

Kernel grad_by_hopper(const Form& f) {
  const AttentionSizes z = hopper_sizes(sizes_of(f));
  return {grad_need(AttentionChoice::Way::hopper, z, f.places()), [z, p = Pointers(f)](const Args& a) {
            const AttentionGradBuffers x = p.grad_buffers(a);
            launch_hopper_grad(z, x, hopper_grad_maps(z, x), a.stream);
          }};
}

// Clears what cuDNN may leave unwritten: results of sequences without keys, and gradients of keys after a sequence's
// end.
constexpr i64 kPairs = 2;  // of bf16 in a word
void clear_without_keys(const CudnnAttention& c, const i32* lengths, const Args& a) {
  const i64 heads = c.g * c.r, row = heads * c.d / kPairs;
  const SequenceRows o{a.outs[0], c.s, c.b * row, row, row, false}, none{};
  clear_rows(int(c.b), {o, {a.outs[1], c.s, c.b * heads, heads, heads, false, -INFINITY}, none}, lengths, a.stream);
}
void clear_behind(const CudnnAttention& c, const i32* lengths, void* dq, void* dk, void* dv, cudaStream_t stream) {
  const i64 head = c.d / kPairs, query = c.query_heads * head, key = c.key_heads * head;
  const auto keys = [&](void* at) { return SequenceRows{at, c.t, c.b * key, key, c.g * head, true}; };
  clear_rows(int(c.b), {keys(dk), keys(dv), {dq, c.s, c.b * query, query, c.g * c.r * head, false}}, lengths, stream);
}

Kernel by_cudnn(const Form& f, const std::vector<CudnnPlanPtr>& plans) {
  const CudnnAttention c = problem_of(f);
  const i64 heads = c.b * c.g * c.r, ends = ends_bytes(f), biases = biases_bytes(f), stats = stats_bytes(f);
  const i64 own = ends + biases + stats;
  const RelativeTable table = table_of(f, f.context.ins.back());
  i64 workspace = 0;
  for (const CudnnPlanPtr& plan : plans) workspace = std::max(workspace, plan->workspace());
  return {
      own + workspace, [=, p = Pointers(f), positions = f.indices(0)](const Args& a) {
        i32* const told = reinterpret_cast<i32*>(a.workspace);
        std::byte* const bias = a.workspace + ends;
        float* packed = reinterpret_cast<float*>(bias + biases);
        const i32* lengths = p.lengths(a, p.inputs);
        const auto [q, k, v] = p.qkv(a.ins, 0);
        if (c.bias) write_biases(table, int(c.s), int(c.t), p.table(a, p.inputs), bias, a.stream);
        for (int i = 0; i < positions.runs; ++i) {
          const i64 first = positions.place[i] * c.b, length = positions.length(i);  // first: row of samples
          const i64 head = c.d * size_of(DType::bf16);
          if (lengths) launch(SequenceEnds{int(c.b), int(length), int(c.t)}, lengths, told, a.stream);
          std::vector<void*> tensors = {q + first * c.query_heads * head, k, v, a.outs[0] + first * c.g * c.r * head,
                                        packed};
          if (lengths) tensors.insert(tensors.end(), {told, told + c.b});
          if (c.bias) tensors.push_back(bias);
          plans[size_t(i)]->run(a.stream, tensors, a.workspace + own);
          launch(Transpose{heads, length, length, 0}, packed, a.out<float>(1) + positions.place[i] * heads, a.stream);
        }
        if (lengths) clear_without_keys(c, lengths, a);
      }};
}

Kernel grad_by_cudnn(const Form& f, const CudnnAttention& whole, const CudnnAttention& part, const CudnnPlanPtr& plan) {
  const i64 heads = part.b * part.g * part.r, stats = grad_stats_bytes(part), runs = grad_runs(whole, part);
  const i64 ends = ends_bytes(f);
  return {ends + runs * stats + plan->workspace(), [=, p = Pointers(f)](const Args& a) {
            i32* const told = reinterpret_cast<i32*>(a.workspace);
            std::byte* const packed = a.workspace + ends;
            const i32* lengths = p.lengths(a, 3 + p.inputs);
            if (lengths) launch(SequenceEnds{int(whole.b), int(whole.s), int(whole.t)}, lengths, told, a.stream);
            const auto [q, k, v] = p.qkv(a.ins, 1);
            const auto [dq, dk, dv] = p.qkv(a.outs, 0);
            const size_t o = size_t(1 + p.inputs);
            launch(Transpose{whole.s, whole.b * whole.g * whole.r, heads, stats / i64(sizeof(float))},
                   a.in<float>(int(o + 1)), reinterpret_cast<float*>(packed), a.stream);
            for (i64 i = 0; i < runs; ++i) {
              const i64 pair = i * part.b * part.g, b = pair / whole.g, g = pair % whole.g;
              const i64 bytes = part.d * size_of(DType::bf16), out = pair * part.r * bytes;
              const i64 query = (b * whole.query_heads + g * part.r) * bytes, key = (b * whole.key_heads + g) * bytes;
              void* const tensors[] = {q + query,          k + key,    v + key,  a.ins[o] + out, a.ins[0] + out,
                                       packed + i * stats, dq + query, dk + key, dv + key,       told + b,
                                       told + whole.b + b};
              plan->run(a.stream, std::span(tensors, lengths ? 11 : 9), packed + runs * stats);
            }
            if (lengths) clear_behind(whole, lengths, dq, dk, dv, a.stream);
          }};
}

}  // namespace

// If positions are split, each rank's kernel reserves the maximum over ranks, for either choice of kernel.
Kernel prepare(const Attention& op, const KernelContext& context) {
  if (auto kernel = prepare_padded(op, context)) return *kernel;
  const DeviceForm f(op.at, context, 0, context.outs[0]);
  const AttentionChoice choice = choose_attention(case_of(f, false));
  const std::optional<i64> most = f.is_cut() ? std::optional(kForwardPlanBytes) : std::nullopt;
  const auto plans = chosen_plans(f, choice, run_problems(f), most);
  Kernel kernel = plans.empty() ? own(f) : by_cudnn(f, plans);
  if (most && choice.way == AttentionChoice::Way::cudnn) kernel.workspace = ends_bytes(f) + stats_bytes(f) + *most;
  return kernel;
}

Kernel prepare(const AttentionGrad& op, const KernelContext& context) {
  if (auto kernel = prepare_padded(op, context)) return *kernel;
  const DeviceForm f(op.at, context, 1, context.ins[0]);
  const CudnnAttention whole = problem_of(f), part = grad_part(f);
  const AttentionChoice choice = choose_attention(case_of(f, true));
  if (const auto plans = chosen_plans(f, choice, {part}, context.gpu.memory / kMostShare); !plans.empty())
    return grad_by_cudnn(f, whole, part, plans[0]);
  return choice.way == AttentionChoice::Way::hopper ? grad_by_hopper(f) : own_grad(f);
}

}  // namespace megalith::cuda
