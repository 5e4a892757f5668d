// Compares results of grouped products with sums in float64.
#pragma once
#include <cstdio>
#include <map>
#include <memory>

#include "grouped_case.cuh"

namespace megalith::cuda {
namespace {

__global__ void differ_kernel(const unsigned* a, const unsigned* b, i64 n, unsigned long long* count) {
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += i64(gridDim.x) * blockDim.x)
    if (a[i] != b[i]) atomicAdd(count, 1ull);
}

struct Problem {
  GroupedSizes z;
  const Bf16 *a, *w;
  const int* ends;
  const void* out;
  const float* before;  // weight gradients: the previous content, or null
};

// A warp for each checked number. bad: how many are wrong; worst: the largest error over the tolerance.
__global__ void judge_kernel(Kind kind, Problem p, i64 n, i64 step, unsigned long long* bad, float* worst) {
  const int lane = threadIdx.x % 32;
  const i64 warps = i64(gridDim.x) * blockDim.x / 32, used = p.ends[p.z.experts - 1];
  for (i64 at = (i64(blockIdx.x) * blockDim.x + threadIdx.x) / 32 * step; at < n; at += warps * step) {
    const i64 columns = kind == Kind::forward ? p.z.n : p.z.k;
    double sum = 0, size = 0;
    if (kind == Kind::weight_grad) {
      const i64 e = at / (i64(p.z.n) * p.z.k), row = at / p.z.k % p.z.n, column = at % p.z.k;
      for (i64 r = (e ? p.ends[e - 1] : 0) + lane; r < p.ends[e]; r += 32) {
        const double term = double(float(p.a[r * p.z.n + row])) * double(float(p.w[r * p.z.k + column]));
        sum += term, size += fabs(term);
      }
    } else {
      const i64 row = at / columns, column = at % columns;
      if (row >= used) {
        if (lane == 0 && static_cast<const unsigned short*>(p.out)[at] != 0xffff) atomicAdd(bad, 1ull);
        continue;
      }
      int e = 0;
      while (p.ends[e] <= row) ++e;
      const i64 depth = kind == Kind::forward ? p.z.k : p.z.n;
      for (i64 i = lane; i < depth; i += 32) {
        const i64 w = kind == Kind::forward ? column * p.z.k + i : i * p.z.k + column;
        const double term = double(float(p.a[row * depth + i])) * double(float(p.w[e * i64(p.z.n) * p.z.k + w]));
        sum += term, size += fabs(term);
      }
    }
    for (int i = 16; i > 0; i /= 2) sum += __shfl_xor_sync(~0u, sum, i), size += __shfl_xor_sync(~0u, size, i);
    if (lane != 0) continue;
    if (p.before) sum += p.before[at];
    const bool wide = kind == Kind::weight_grad;
    const double got = wide ? static_cast<const float*>(p.out)[at] : float(static_cast<const Bf16*>(p.out)[at]);
    const double allowed = (wide ? 0x1p-23 : 0x1p-8) * fabs(sum) + 1e-5 * size + 1e-30;
    const double off = fabs(got - sum) / allowed;
    if (!(off <= 1)) atomicAdd(bad, 1ull);
    atomicMax(reinterpret_cast<int*>(worst), __float_as_int(off == off ? float(off) : 1e30f));
  }
}

// A launch in a CUDA graph that is captured once per shape and serves all routings.
class Replay {
 public:
  Replay(const Case& c, Kind kind, bool add, i64 words) : out_(words) {
    cudaStream_t stream;
    cudaGraph_t graph;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    c.run(kind, out_.at(), add, stream);
    check_cuda(cudaStreamEndCapture(stream, &graph), "capture");
    check_cuda(cudaGraphInstantiate(&graph_, graph, 0), "graph");
    cudaGraphDestroy(graph), cudaStreamDestroy(stream);
  }
  ~Replay() { cudaGraphExecDestroy(graph_); }
  Replay(const Replay&) = delete;
  const Memory<unsigned>& out() const { return out_; }
  void run() const { check_cuda(cudaGraphLaunch(graph_, nullptr), "graph"); }

 private:
  Memory<unsigned> out_;
  cudaGraphExec_t graph_ = nullptr;
};

struct Judged {
  explicit Judged(const GroupedSizes& z) : c(z) {}
  Case c;
  std::map<std::pair<Kind, bool>, std::unique_ptr<Replay>> replays;
};

bool judge(Judged& judged, Kind kind, bool add, i64 step, const std::string& name) {
  const Case& c = judged.c;
  const i64 n = c.numbers(kind), words = n * (kind == Kind::weight_grad ? 4 : 2) / 4;
  Memory<unsigned> out(words);
  Memory<float> before(add ? n : 1);
  if (add) fill(before, n, 9);
  std::unique_ptr<Replay>& replay = judged.replays[{kind, add}];
  if (!replay) replay = std::make_unique<Replay>(c, kind, add, words);
  const Memory<unsigned>& again = replay->out();
  for (const Memory<unsigned>* m : std::initializer_list<const Memory<unsigned>*>{&out, &again}) {
    m->poison();
    if (add) check_cuda(cudaMemcpy(m->at(), before.at(), size_t(n) * 4, cudaMemcpyDeviceToDevice), "before");
  }
  c.run(kind, out.at(), add);
  replay->run();
  struct Found {
    unsigned long long bad, differ;
    float worst;
  } found{};
  Memory<Found> device(1);
  check_cuda(cudaMemset(device.at(), 0, sizeof found), "found");
  differ_kernel<<<1024, 256>>>(out.at(), again.at(), words, &device.at()->differ);
  judge_kernel<<<2048, 256>>>(
      kind,
      {c.z, kind == Kind::forward ? c.k_rows.at() : c.n_rows.at(), kind == Kind::weight_grad ? c.k_rows.at() : c.w.at(),
       c.ends.at(), out.at(), add ? before.at() : nullptr},
      n, step, &device.at()->bad, &device.at()->worst);
  check_launch("judge");
  check_cuda(cudaMemcpy(&found, device.at(), sizeof found, cudaMemcpyDeviceToHost), "found");
  const bool good = found.bad == 0 && found.differ == 0;
  if (!good || step > 1)
    printf("%s %s%s: %llu wrong, %llu not the same twice, worst %.3f of what is allowed\n", name.c_str(),
           kNames[int(kind)], add ? " +" : "", found.bad, found.differ, found.worst);
  return good;
}

bool judge_all(Judged& c, const std::string& how, int rows, i64 step, const std::string& name) {
  c.c.route(how, rows);
  const std::string full = name + " " + how;
  bool good = judge(c, Kind::forward, false, step, full);
  good &= judge(c, Kind::data_grad, false, step, full);
  good &= judge(c, Kind::weight_grad, false, step, full);
  return judge(c, Kind::weight_grad, true, step, full) && good;
}

}  // namespace
}  // namespace megalith::cuda
