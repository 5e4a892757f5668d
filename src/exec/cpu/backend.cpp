#include "exec/cpu/backend.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/process_memory.h"
#include "base/split_float.h"
#include "base/threads.h"
#include "exec/cpu/executor.h"
#include "exec/cpu/kernels/matmul.h"

namespace megalith {

namespace {

class CpuInterpreter final : public Interpreter {
 public:
  CpuInterpreter(const Plan& plan, const Coord& coord, Ranks* ranks) : executor_(plan, coord, ranks), ranks_(ranks) {}
  void run(int program, bool first, int slot) override {
    const double began = steady_seconds(), with_others = executor_.seconds_with_others();
    executor_.run(program, first, slot);
    const double seconds = steady_seconds() - began;
    busy_ += seconds, own_ += seconds - (executor_.seconds_with_others() - with_others);
  }
  int send(const Leaf& leaf, int slot, int peer, int channel) override {
    const Piece piece{peer, place(leaf, slot), leaf.bytes};
    return others().exchange(kFirstChannel + channel, {&piece, 1}, {});
  }
  int receive(const Leaf& leaf, int slot, int peer, int channel) override {
    const Piece piece{peer, place(leaf, slot), leaf.bytes};
    return others().exchange(kFirstChannel + channel, {}, {&piece, 1});
  }
  void join(int ticket) override { others().wait(ticket); }
  void write(const Leaf& leaf, const void* data, int slot) override {
    std::memcpy(place(leaf, slot), data, size_t(leaf.bytes));
  }
  void read(const Leaf& leaf, void* data) override { std::memcpy(data, executor_.leaf(leaf.name), size_t(leaf.bytes)); }
  void write_part(const Leaf& leaf, i64 begin, std::span<const std::byte> data) override {
    std::memcpy(executor_.leaf(leaf.name) + begin, data.data(), data.size());
  }
  void read_part(const Leaf& leaf, i64 begin, std::span<std::byte> out) override {
    std::memcpy(out.data(), executor_.leaf(leaf.name) + begin, out.size());
  }
  std::byte* host_memory(i64 bytes) override {
    if (i64(copies_.size()) < bytes) copies_.resize(size_t(bytes));
    return copies_.data();
  }
  void make_ready(int, bool, int) override {}
  void copy_on_device(i64) override {}
  // Copies immediately. A copy in the background would take CPU cores from the next step.
  void begin_copies(std::span<const Copy> copies) override {
    for (const Copy& c : copies)
      parallel_ranges(i64(c.to.size()), i64{1} << 20, [&](i64 begin, i64 end) {
        read_part(*c.leaf, c.begin + begin, c.to.subspan(size_t(begin), size_t(end - begin)));
      });
  }
  void wait_for_copies() override {}
  void draw(const Leaf& leaf, const Draw& d) override {
    const auto fill = [&](float* to) { megalith::draw(d, leaf.type, executor_.plan().mesh, executor_.coord(), to); };
    if (leaf.type.dtype == DType::f32) return fill(reinterpret_cast<float*>(executor_.leaf(leaf.name)));
    const DType type = leaf.type.dtype;
    check(type == DType::bf16 || type == DType::f16 || type == DType::u16,
          "{} is {}: f32, bf16, low halves (u16) or f16 can be initialized", leaf.name, name_of(type));
    std::vector<float> wide(size_t(leaf.bytes) / sizeof(bf16));
    fill(wide.data());
    if (type == DType::u16)
      std::ranges::transform(wide, reinterpret_cast<u16*>(executor_.leaf(leaf.name)), low_half_of);
    else if (type == DType::f16)
      std::ranges::copy(wide, reinterpret_cast<f16*>(executor_.leaf(leaf.name)));
    else
      std::ranges::transform(wide, reinterpret_cast<bf16*>(executor_.leaf(leaf.name)), bf16_half_of);
  }
  std::byte* host_view(const Leaf& leaf) override { return executor_.leaf(leaf.name); }
  std::span<const double> scalars(int program, const std::string& output) override {
    return {executor_.output_f64(program, output), size_t(buffer(program, output).type.elements())};
  }
  void read_output(int program, const std::string& output, void* data) override {
    const Program& p = executor_.plan().programs[program];
    std::memcpy(data, executor_.buffer(program, p.outputs.at(output)), size_t(buffer(program, output).bytes));
  }
  int request(int program, const std::string& output) override {
    const auto values = scalars(program, output);
    requested_[++tickets_] = {{values.begin(), values.end()}, steady_seconds()};
    return tickets_;
  }
  bool ready(int) override { return true; }
  double arrived(int ticket) override { return requested_.at(ticket).at; }
  std::vector<double> take(int ticket) override { return std::move(requested_.extract(ticket).mapped().values); }
  void write_after(int ticket, const Leaf& leaf, Fill fill) override {
    fill(requested_.at(ticket).values, executor_.leaf(leaf.name));
  }
  void profile(bool) override {}
  double busy_seconds() override { return std::exchange(busy_, 0); }
  double own_seconds() override { return std::exchange(own_, 0); }
  bool watch(RunWatch* watch) override {
    executor_.watch(watch);
    return true;
  }
  void tell_reductions(std::function<void(double)> told) override { executor_.tell_reductions(std::move(told)); }
  std::vector<double> time_instructions(int program) override {
    std::vector<double> seconds;
    for (int i = 0; i < int(executor_.plan().programs[program].instructions.size()); ++i) {
      const double began = steady_seconds();
      executor_.run_instruction(program, i, true);
      seconds.push_back(steady_seconds() - began);
    }
    return seconds;
  }

 private:
  static constexpr int kFirstChannel = 64;  // first tag of pipeline transfers; relayout lanes use lower tags
  std::byte* place(const Leaf& leaf, int slot) { return executor_.leaf(leaf.name) + slot * leaf.stride(); }
  Ranks& others() {
    check(ranks_ != nullptr, "a transfer between pipeline stages on a single rank");
    return *ranks_;
  }
  const Buffer& buffer(int program, const std::string& output) const {
    const Program& p = executor_.plan().programs[program];
    return p.buffers[p.outputs.at(output)];
  }
  struct Requested {
    std::vector<double> values;
    double at;  // time of steady_seconds()
  };
  cpu::Executor executor_;
  Ranks* ranks_;
  std::map<int, Requested> requested_;  // by ticket
  int tickets_ = 0;
  std::vector<std::byte> copies_;
  double busy_ = 0, own_ = 0;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(Ranks* ranks, const char* kernels) : ranks_(ranks), kernels_(kernels) {}
  std::string name() const override { return "cpu"; }
  std::string device_name() const override { return "CPU"; }
  std::string kernels() const override { return kernels_; }
  std::string bf16_products() const override {
    return cpu::has_fast_bf16() ? "products by its bf16 instructions" : "products in f32, which are as fast here";
  }
  i64 workspace_bytes(const Graph& g, const Node& n) const override { return cpu::workspace_bytes(g, n); }
  // Measured memory that running steps add: compiled kernels, code pages that only a run reads, and each thread's
  // stack.
  i64 fixed_bytes() const override {
    constexpr i64 kCode = i64{1088} << 10, kStack = i64{32} << 10;
    return resident_bytes() + kCode + num_threads() * kStack + cpu::packed_bytes();
  }
  i64 available_bytes() const override { return available_host_bytes(); }
  i64 peak_bytes() const override { return peak_resident_bytes(); }
  std::optional<i64> host_bytes() const override { return std::nullopt; }
  // On a CPU, fusing a bias or the sum of its gradient saves no time. Squaring a gradient is fastest while it is in
  // cache.
  std::set<std::string> passes_off() const override {
    return {"fuse-bias", "fuse-bias-grad", "fuse-code-add", "multi-tensor", "transpose-codes"};
  }
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    return std::make_unique<CpuInterpreter>(plan, coord, ranks_);
  }

 private:
  Ranks* ranks_;
  std::string kernels_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(Ranks* ranks, const char* kernels) {
  return std::make_unique<CpuBackend>(ranks, kernels);
}

}  // namespace megalith
