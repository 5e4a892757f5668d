#include "exec/cpu/backend.h"

#include <cstring>
#include <fstream>

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

// A line "MemAvailable:  123 kB" of /proc/meminfo, in bytes.
i64 meminfo(const std::string& key) {
  std::ifstream in("/proc/meminfo");
  std::string word;
  for (i64 kib; in >> word;)
    if (word == key && in >> kib) return kib * 1024;
  fail("/proc/meminfo has no {}", key);
}

class CpuBackend final : public Backend {
 public:
  std::string name() const override { return "cpu"; }
  i64 workspace_bytes(const Graph& g, const Node& n) const override { return cpu::workspace_bytes(g, n); }
  i64 fixed_bytes() const override { return i64{48} << 20; }  // measured: libraries, stacks, oneDNN's compiled kernels
  i64 available_bytes() const override { return meminfo("MemAvailable:"); }
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    return std::make_unique<CpuInterpreter>(plan, coord);
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace megalith
