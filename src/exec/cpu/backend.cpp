#include "exec/cpu/backend.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/threads.h"
#include "exec/cpu/executor.h"

namespace megalith {

namespace {

class CpuInterpreter final : public Interpreter {
 public:
  CpuInterpreter(const Plan& plan, const Coord& coord) : executor_(plan, coord) {}
  void run(int program, bool first) override { executor_.run(program, first); }
  void write(const Leaf& leaf, const void* data) override {
    std::memcpy(executor_.leaf(leaf.name), data, size_t(leaf.bytes));
  }
  void read(const Leaf& leaf, void* data) override { std::memcpy(data, executor_.leaf(leaf.name), size_t(leaf.bytes)); }
  const std::byte* host_view(const Leaf& leaf) override { return executor_.leaf(leaf.name); }
  std::span<const double> scalars(int program, const std::string& output) override {
    return {executor_.output_f64(program, output), size_t(buffer(program, output).type.elements())};
  }
  void read_output(int program, const std::string& output, void* data) override {
    const Program& p = executor_.plan().programs[program];
    std::memcpy(data, executor_.buffer(program, p.outputs.at(output)), size_t(buffer(program, output).bytes));
  }

 private:
  const Buffer& buffer(int program, const std::string& output) const {
    const Program& p = executor_.plan().programs[program];
    return p.buffers[p.outputs.at(output)];
  }
  cpu::Executor executor_;
};

// A line "MemAvailable:  123 kB" of a file in /proc, in bytes.
i64 proc_bytes(const char* file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  for (i64 kib; in >> word;)
    if (word == key && in >> kib) return kib * 1024;
  fail("{} has no {}", file, key);
}

// What the control group that the process is in may still take; nothing if it has no limit (or there are no groups).
std::optional<i64> group_bytes() {
  std::ifstream limit("/sys/fs/cgroup/memory.max"), current("/sys/fs/cgroup/memory.current");
  std::ifstream details("/sys/fs/cgroup/memory.stat");
  i64 most = 0, used = 0, files = 0;
  if (!(limit >> most) || !(current >> used)) return std::nullopt;
  std::string key;
  for (i64 value; details >> key >> value;)
    if (key == "inactive_file") files = value;  // given back when it is needed
  return std::max<i64>(0, most - used + files);
}

class CpuBackend final : public Backend {
 public:
  std::string name() const override { return "cpu"; }
  i64 workspace_bytes(const Graph& g, const Node& n) const override { return cpu::workspace_bytes(g, n); }
  // What a run adds was measured: oneDNN's compiled kernels and the code that is first touched by running, and of each
  // thread its stack and oneDNN's packing.
  i64 fixed_bytes() const override {
    constexpr i64 kMiB = i64{1} << 20;
    return resident_bytes() + kMiB + num_threads() * kMiB / 2;
  }
  i64 available_bytes() const override {
    const i64 machine = proc_bytes("/proc/meminfo", "MemAvailable:");
    return resident_bytes() + std::min(machine, group_bytes().value_or(machine));
  }
  i64 peak_bytes() const override { return proc_bytes("/proc/self/status", "VmHWM:"); }
  // A bias costs the same before the product and after it, and a gradient is squared best while it is in cache.
  std::set<std::string> passes_off() const override { return {"fuse-bias", "multi-tensor"}; }
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    return std::make_unique<CpuInterpreter>(plan, coord);
  }

 private:
  static i64 resident_bytes() { return proc_bytes("/proc/self/status", "VmRSS:"); }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace megalith
