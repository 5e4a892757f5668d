#include "exec/cuda/backend.h"

#include <cuda_profiler_api.h>

#include "base/process_memory.h"
#include "exec/cuda/draw.h"
#include "exec/cuda/executor.h"
#include "exec/cuda/requests.h"
#include "exec/cuda/staging.h"

namespace megalith {

namespace {

class CudaInterpreter final : public Interpreter {
 public:
  CudaInterpreter(const Plan& plan, const Coord& coord, cuda::Device& device)
      : executor_(plan, coord, device), staging_(device.stream()), requests_(device.stream()) {}
  void run(int program, bool first, int slot) override { executor_.run(program, first, slot); }
  int send(const Leaf&, int, int, int) override { fail("pipeline stages on GPUs are not built yet"); }
  int receive(const Leaf&, int, int, int) override { fail("pipeline stages on GPUs are not built yet"); }
  void join(int) override {}
  void write(const Leaf& leaf, const void* data, int slot) override {
    staging_.write(executor_.leaf(leaf) + slot * leaf.stride(), data, leaf.bytes);
  }
  void read(const Leaf& leaf, void* data) override { staging_.read(data, executor_.leaf(leaf), leaf.bytes); }
  void draw(const Leaf& leaf, const Draw& d) override {
    cuda::draw(d, leaf.type, executor_.plan().mesh, executor_.coord(), executor_.leaf(leaf),
               executor_.device().stream());
  }
  const std::byte* host_view(const Leaf&) override { return nullptr; }
  std::span<const double> scalars(int program, const std::string& output) override {
    scalars_.resize(size_t(buffer(program, output).type.elements()));
    read_output(program, output, scalars_.data());
    return scalars_;
  }
  void read_output(int program, const std::string& output, void* data) override {
    const int b = executor_.plan().programs[program].outputs.at(output);
    staging_.read(data, executor_.buffer(program, b), buffer(program, output).bytes);
  }
  int request(int program, const std::string& output) override {
    const int b = executor_.plan().programs[program].outputs.at(output);
    return requests_.ask(executor_.buffer(program, b), buffer(program, output).bytes);
  }
  bool ready(int ticket) override { return requests_.ready(ticket); }
  std::vector<double> take(int ticket) override { return requests_.take(ticket); }
  void write_after(int ticket, const Leaf& leaf, Fill fill) override {
    staging_.write_later(
        executor_.leaf(leaf), leaf.bytes,
        [values = requests_.place(ticket), fill = std::move(fill)](std::byte* to) { fill(values, to); });
  }
  void profile(bool on) override {
    cuda::check_cuda(on ? cudaProfilerStart() : cudaProfilerStop(), "talking to the profiler");
    executor_.set_graphs(!on);
  }
  double busy_seconds() override { return executor_.busy_seconds(); }
  std::vector<double> time_instructions(int program) override { return executor_.time_instructions(program); }

 private:
  const Buffer& buffer(int program, const std::string& output) const {
    const Program& p = executor_.plan().programs[program];
    return p.buffers[p.outputs.at(output)];
  }
  cuda::Executor executor_;
  cuda::Staging staging_;
  cuda::Requests requests_;
  std::vector<double> scalars_;
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const CudaOptions& o) : device_(o.device, o.gemm_cache) {}
  std::string name() const override { return "cuda"; }
  std::string device_name() const override { return device_.name(); }
  i64 workspace_bytes(const Graph& g, const Node& n) const override { return cuda::workspace_bytes(device_, g, n); }
  // What the context and the libraries hold on the GPU; their kernels' code is loaded at first use.
  i64 fixed_bytes() const override {
    device_.blas(), device_.dnn();
    return device_.total_bytes() - device_.free_bytes();
  }
  i64 available_bytes() const override { return device_.total_bytes(); }
  i64 peak_bytes() const override { return device_.total_bytes() - device_.free_bytes(); }
  std::optional<i64> host_bytes() const override { return resident_bytes() + cuda::Staging::kBytes; }
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    return std::make_unique<CudaInterpreter>(plan, coord, device_);
  }

 private:
  mutable cuda::Device device_;
};

}  // namespace

int cuda_device_count() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

std::string why_no_cuda() {
  int devices = 0, driver = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess) return devices > 0 ? "" : "there is no GPU";
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) return "there is no NVIDIA driver";
  return cudaGetErrorString(status);
}

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options) {
  const std::string missing = why_no_cuda();
  check(missing.empty(), "--device cuda: {}: run where there is one, or with --device cpu", missing);
  return std::make_unique<CudaBackend>(options);
}

}  // namespace megalith
