// kernel-bench measures the CUDA kernels one by one, at the sizes of real models. It prints median milliseconds, and
// bytes over the device's copy bandwidth. Bytes count each operand once, by the op's cost rule. The bandwidth is
// measured first, of 4 GiB. Of its size: over the bandwidth of copies with as many bytes, in a row. A short kernel has
// no time to reach the bandwidth of a long copy. In a row: several launches in a CUDA graph, as in a step; rates are of
// these. Alone: one launch and its wait, including the launch overhead. Operands are random; buffers rotate through
// more memory than the L2 cache.
// kernel-bench PART...: only kernels whose names contain one of the words.
#include <algorithm>
#include <map>
#include <vector>

#include "base/log.h"
#include "base/rng.h"
#include "exec/cuda/kernel.h"
#include "kernel_cases.h"

namespace megalith::cuda {
namespace {

class Memory {
 public:
  explicit Memory(i64 bytes) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&at_), size_t(std::max<i64>(bytes, 1))), "benchmark buffer");
  }
  ~Memory() { cudaFree(at_); }
  Memory(Memory&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  std::byte* at() const { return at_; }

 private:
  std::byte* at_ = nullptr;
};

std::vector<std::byte> random_block(const Type& type, i64 ids_below) {
  constexpr i64 kBlock = 1 << 20;  // elements
  std::vector<std::byte> block(size_t(kBlock * size_of(type.dtype)));
  for (i64 i = 0; i < kBlock; ++i) {
    const double x = normal(mix_all(7, i));
    const auto put = [&](auto value) { std::memcpy(block.data() + i * i64(sizeof value), &value, sizeof value); };
    if (type.dtype == DType::bf16) put(bf16(float(x)));
    if (type.dtype == DType::f32) put(float(x));
    if (type.dtype == DType::f64) put(1 + 0.1 * x);
    if (type.dtype == DType::i32) put(i32(mix_all(9, i) % u64(std::max<i64>(1, ids_below))));
    if (type.dtype == DType::i64) put(i);
    if (type.dtype == DType::u8) put(u8(i % 8 == 0));
  }
  return block;
}

// Blocks of random numbers, repeated.
void fill(std::byte* to, const Type& type, i64 ids_below) {
  static std::map<std::pair<DType, i64>, std::vector<std::byte>> blocks;
  std::vector<std::byte>& block = blocks[{type.dtype, ids_below}];
  if (block.empty()) block = random_block(type, ids_below);
  for (i64 done = 0; done < type.bytes(); done += i64(block.size()))
    check_cuda(cudaMemcpy(to + done, block.data(), size_t(std::min<i64>(i64(block.size()), type.bytes() - done)),
                          cudaMemcpyHostToDevice),
               "benchmark data");
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

// Milliseconds of run(i) for increasing i, measured with events.
template <class F>
double timed(cudaStream_t stream, F&& run) {
  constexpr int kWarm = 3, kRuns = 15;
  cudaEvent_t from, to;
  check_cuda(cudaEventCreate(&from), "event"), check_cuda(cudaEventCreate(&to), "event");
  std::vector<double> ms;
  for (int i = 0; i < kWarm + kRuns; ++i) {
    check_cuda(cudaEventRecord(from, stream), "event");
    run(i);
    check_cuda(cudaEventRecord(to, stream), "event");
    check_cuda(cudaEventSynchronize(to), "event");
    float took = 0;
    check_cuda(cudaEventElapsedTime(&took, from, to), "event");
    if (i >= kWarm) ms.push_back(took);
  }
  cudaEventDestroy(from), cudaEventDestroy(to);
  return median(ms);
}

// The launches run(0), run(1), .. of a graph.
class Launches {
 public:
  template <class F>
  Launches(cudaStream_t stream, int n, F&& run) : stream_(stream) {
    cudaGraph_t graph;
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "graph");
    for (int i = 0; i < n; ++i) run(i);
    check_cuda(cudaStreamEndCapture(stream, &graph), "graph");
    check_cuda(cudaGraphInstantiate(&graph_, graph, 0), "graph");
    cudaGraphDestroy(graph);
  }
  ~Launches() { cudaGraphExecDestroy(graph_); }
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;
  void operator()() const { check_cuda(cudaGraphLaunch(graph_, stream_), "graph"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
};

class Bench {
 public:
  explicit Bench(Device& device) : device_(device) {
    const double ms = timed(device.stream(), [&](int) { copy(kCopied, 0); });
    copy_ = 2 * double(kCopied) / ms / 1e6;
    log::say("{}: device copy {:.0f} GB/s (read and written)", device.name(), copy_);
    log::say("{:<48} {:>8} {:>8} {:>8} {:>8} {:>12} {:>9}", "kernel", "alone", "in a row", "GB/s", "of copy",
             "of its size", "TFLOP/s");
  }

  void run(const Case& c) {
    const Mesh mesh = make_mesh({1, c.cp, 1, 1});
    const std::vector<Type> types = c.op.infer({mesh, c.ins, std::vector<bool>(c.ins.size(), false)});
    const Kernel kernel = prepare_any(c.op, {mesh, mesh.coord(c.rank), c.ins, types, device_});
    const std::vector<Type> ins = local(mesh, c.ins), outs = local(mesh, types);
    i64 bytes = 0;
    for (const Type& t : ins) bytes += t.bytes();
    constexpr i64 kBeyondCache = i64{256} << 20;
    constexpr double kRowMs = 2;
    const int sets = int(std::clamp<i64>(kBeyondCache / std::max<i64>(1, bytes) + 1, 1, 16));
    std::vector<Set> all;
    for (int i = 0; i < sets; ++i) all.push_back(make_set(c, ins, outs));
    const Memory workspace(kernel.workspace);
    const auto args = [&](int i) {
      const Set& s = all[size_t(i % sets)];
      return Args{s.ins, s.outs, workspace.at(), true, device_.stream()};
    };
    if (kernel.tune) kernel.tune(args(0));
    const double alone = timed(device_.stream(), [&](int i) { kernel.run(args(i)); });
    const int launches = int(std::clamp<double>(kRowMs / alone, 1, 32));
    const Launches row(device_.stream(), launches, [&](int i) { kernel.run(args(i)); });
    const double ms = timed(device_.stream(), [&](int) { row(); }) / launches;
    const double flops = c.op.cost(c.ins, types).flops / c.cp / c.parts, moved = c.op.cost(ins, outs).bytes;
    const double rate = moved / ms / 1e6;
    log::say("{:<48} {:>8.4f} {:>8.4f} {:>8.0f} {:>7.1f}% {:>11.1f}% {:>9.1f}", c.name, alone, ms, rate,
             100 * rate / copy_, 100 * rate / copy_of(i64(moved / 2)), flops / ms / 1e9);
  }

 private:
  static constexpr i64 kCopied = i64{4} << 30;

  void copy(i64 bytes, i64 at) {
    check_cuda(
        cudaMemcpyAsync(to_.at() + at, from_.at() + at, size_t(bytes), cudaMemcpyDeviceToDevice, device_.stream()),
        "copy");
  }
  // GB/s of copies of this many bytes, read and written: of the faster of copies in a graph and in the stream.
  double copy_of(i64 bytes) {
    constexpr i64 kWord = 256, kLaunches = 32;
    bytes = std::clamp<i64>(bytes / kWord * kWord, kWord, kCopied);
    const i64 sets = kCopied / bytes;
    const auto in_a_row = [&](i64 i) { copy(bytes, i % sets * bytes); };
    const Launches row(device_.stream(), int(kLaunches), in_a_row);
    const double graph = timed(device_.stream(), [&](int) { row(); });
    const double stream = timed(device_.stream(), [&](int) {
      for (i64 i = 0; i < kLaunches; ++i) in_a_row(i);
    });
    return 2 * double(bytes * kLaunches) / std::min(graph, stream) / 1e6;
  }

  struct Set {
    std::vector<Memory> memory;
    std::vector<std::byte*> ins, outs;
  };
  static std::vector<Type> local(const Mesh& mesh, const std::vector<Type>& types) {
    std::vector<Type> out;
    for (const Type& t : types) out.push_back(local_type(mesh, t));
    return out;
  }
  Set make_set(const Case& c, const std::vector<Type>& ins, const std::vector<Type>& outs) {
    Set s;
    for (const Type& t : ins) {
      s.memory.emplace_back(t.bytes());
      s.ins.push_back(s.memory.back().at());
      fill(s.ins.back(), t, c.ids_below);
    }
    for (size_t i = 0; i < outs.size(); ++i) {
      std::byte* at = nullptr;
      for (const Alias& a : c.op.aliases())
        if (a.out == int(i) && (a.must || (c.in_place && ins[size_t(a.in)].bytes() == outs[i].bytes())))
          at = s.ins[size_t(a.in)];
      if (!at) s.memory.emplace_back(outs[i].bytes()), at = s.memory.back().at();
      s.outs.push_back(at);
    }
    return s;
  }

  Device& device_;
  const Memory from_{kCopied}, to_{kCopied};
  double copy_ = 0;  // GB/s
};

std::vector<Case> norm_cases() {
  const DType b = DType::bf16, f = DType::f32;
  std::vector<Case> all;
  for (const auto& [rows, h] : {std::pair<i64, i64>{16384, 4096},
                                {8192, 8192},
                                {16384, 2048},
                                {16384, 1600},
                                {32768, 1024},
                                {65536, 768},
                                {1 << 20, 128}}) {
    const std::string size = fmt::format(" {}x{}", rows, h);
    const Type x = of(b, {rows, 1, h}), w = of(b, {h}), row = of(f, {rows, 1});
    all.push_back({"rms_norm" + size, RmsNorm{}, {x, w}});
    all.push_back({"rms_norm_grad" + size, RmsNormGrad{}, {x, x, w, row}});
    all.push_back({"layer_norm" + size, LayerNorm{}, {x, w, w}});
    all.push_back({"layer_norm_grad" + size, LayerNormGrad{}, {x, x, w, row, row}});
    if (h == 128) continue;
    all.push_back(
        {"rms_norm_grad + residual, again" + size, RmsNormGrad{"sbh", f, true, true}, {x, x, w, row, x}, true});
    all.push_back({"layer_norm_grad + residual, again" + size,
                   LayerNormGrad{"sbh", f, true, true},
                   {x, x, w, row, row, x, w},
                   true});
    all.push_back({"layer_norm_grad + residual, bias" + size,
                   LayerNormGrad{"sbh", f, true, false, true},
                   {x, x, w, row, row, x},
                   true});
  }
  return all;
}

std::vector<Case> elementwise_cases() {
  const DType b = DType::bf16, f = DType::f32;
  const Type wide = of(b, {8192, 2, 2, 14336}), half = of(b, {8192, 2, 14336}), x = of(b, {8192, 2, 4096});
  const Type gelu = of(b, {1024, 64, 3072}), q = of(b, {8192, 2, 8, 4, 128});
  Rope rope;
  rope.freq.dims = 128, rope.freq.base = 500000;
  return {{"swiglu 16384x2x14336", Swiglu{}, {wide}},
          {"swiglu_grad 16384x2x14336", SwigluGrad{}, {half, wide}, true},
          {"swiglu_grad 16384x2x14336, again", SwigluGrad{true}, {half, wide}, true},
          {"gelu_tanh 65536x3072", Activate{}, {gelu}},
          {"gelu_tanh grad 65536x3072", ActivateGrad{}, {gelu, gelu}, true},
          {"gelu_tanh grad 65536x3072, again", ActivateGrad{Act::gelu_tanh, 3, true}, {gelu, gelu}, true},
          {"gelu_tanh grad 65536x3072, again, bias", ActivateGrad{Act::gelu_tanh, 3, true, true}, {gelu, gelu}, true},
          {"rope 8192x2x32x128", rope, {q}, true},
          {"add 16384x4096", Add{"sbh,sbh->sbh"}, {x, x}, true},
          {"add bias 65536x3072", Add{"sbh,h->sbh"}, {gelu, of(b, {3072})}, true},
          {"sum of bias gradient 65536x3072", Sum{"sbh->h", f}, {gelu}},
          {"sum of bias gradient 65536x2304", Sum{"sbh->h", f}, {of(b, {1024, 64, 2304})}},
          {"sum of bias gradient 16384x1600", Sum{"sbh->h", f}, {of(b, {1024, 16, 1600})}},
          {"sum of bias gradient 16384x4800", Sum{"sbh->h", f}, {of(b, {1024, 16, 4800})}},
          {"embedding 16384 of 128256x4096",
           Embedding{},
           {of(DType::i32, {8192, 2}), of(b, {128256, 4096})},
           false,
           128256},
          {"embedding_grad, accumulates",
           EmbeddingGrad{f, true, true},
           {of(DType::i32, {8192, 2}), x, of(f, {128256, 4096})},
           true,
           128256}};
}

std::vector<Case> loss_and_update_cases() {
  const DType b = DType::bf16, f = DType::f32, d = DType::f64;
  const Type logits = of(b, {8192, 1, 131072}), labels = of(DType::i32, {8192, 1}), m = of(f, {8192, 1});
  const Type w = of(f, {28672, 4096});
  return {
      {"vocab_max 8192x131072", VocabMax{131072}, {logits}, false, 131072},
      {"vocab_sums 8192x131072", VocabSums{131072}, {logits, labels, m}, false, 131072},
      {"vocab_max_sums 8192x131072", VocabMaxSums{131072}, {logits, labels}, false, 131072},
      {"vocab_loss 8192x131072", VocabLoss{131072}, {m, logits, labels}, true, 131072},
      {"vocab_sums_grad 8192x131072", VocabSumsGrad{131072}, {of(f, {2, 8192, 1}), logits, labels, m}, true, 131072},
      {"sum_squares 28672x4096", SumSquares{2}, {w}},
      {"adamw 28672x4096, bf16 weights and what they lack",
       Update{.rule = AdamW{}, .ndim = 2, .copy = true},
       {of(DType::u16, {28672, 4096}), w, w, w, of(d, {4}), of(d, {4}), of(b, {28672, 4096})},
       true},
      {"adamw 28672x4096, the same, a gradient in one of 8 rows",
       Update{.rule = AdamW{}, .ndim = 2, .copy = true, .marks = true},
       {of(DType::u16, {28672, 4096}), w, w, w, of(d, {4}), of(d, {4}), of(b, {28672, 4096}), of(DType::u8, {28672})},
       true}};
}

void run_all(const std::vector<std::string>& parts) {
  Device device(0, "");
  Bench bench(device);
  for (const auto& cases : {attention_cases(), encoder_cases(), context_parallel_cases(), ring_cases(), norm_cases(),
                            elementwise_cases(), loss_and_update_cases(), quantize_cases()})
    for (const Case& c : cases)
      if (parts.empty() || std::any_of(parts.begin(), parts.end(),
                                       [&](const std::string& part) { return c.name.find(part) != std::string::npos; }))
        bench.run(c);
}

}  // namespace
}  // namespace megalith::cuda

int main(int argc, char** argv) {
  try {
    megalith::cuda::run_all({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    megalith::log::say("kernel-bench: {}", e.what());
    return 1;
  }
}
