#include "exec/cuda/backend.h"

#include <cuda_profiler_api.h>

#include <cstring>

#include "base/process_memory.h"
#include "exec/cuda/draw.h"
#include "exec/cuda/executor.h"
#include "exec/cuda/fill_ring.h"
#include "exec/cuda/held_parts.h"
#include "exec/cuda/host_copies.h"
#include "exec/cuda/leaf_hash.h"
#include "exec/cuda/requests.h"
#include "exec/cuda/staging.h"
#include "exec/cuda/symmetric/comms.h"
#include "exec/cuda/tell_facts.h"
#include "exec/cuda/transfers.h"
#include "exec/cuda_needs/coded_tiles.h"
#include "facts/tells_facts.h"
#include "plan/deferred_memory.h"
#include "plan/filled_writes.h"
#include "plan/host_memory_ahead.h"
#include "plan/leaf_hash.h"

namespace megalith {

namespace {

class CudaInterpreter final : public Interpreter,
                              public HostMemoryAhead,
                              public FilledWrites,
                              public HashesLeaves,
                              public DeferredMemory {
 public:
  // `held_bytes`: of a deferred one, which writes there what it holds.
  CudaInterpreter(const Plan& plan, const Coord& coord, cuda::Device& device, const cuda::Peers* peers,
                  i64* held_bytes = nullptr)
      : executor_(plan, coord, device, peers, held_bytes != nullptr),
        held_bytes_(held_bytes),
        staging_(device.stream()),
        fills_(device.stream()),
        copies_(device.stream()),
        requests_(device.stream()),
        transfers_(device, peers) {}
  void run(int program, bool first, int slot) override {
    if (copies_.reads_state() && executor_.updates(program))
      executor_.run(program, first, slot, [&] { copies_.hold(); });
    else
      executor_.run(program, first, slot);
  }
  void make_ready(int program, bool first, int slot) override { executor_.make_ready(program, first, slot); }
  int send(const Leaf& leaf, int slot, int peer, int channel) override {
    return transfers_.send(executor_.leaf(leaf, slot), leaf.bytes, peer, channel);
  }
  int receive(const Leaf& leaf, int slot, int peer, int channel) override {
    return transfers_.receive(executor_.leaf(leaf, slot), leaf.bytes, peer, channel);
  }
  void join(int ticket) override { transfers_.join(ticket); }
  void write(const Leaf& leaf, const void* data, int slot) override {
    staging_.write(executor_.leaf(leaf, slot), data, leaf.bytes);
  }
  void read(const Leaf& leaf, void* data) override {
    read_part(leaf, 0, {static_cast<std::byte*>(data), size_t(leaf.bytes)});
  }
  void write_part(const Leaf& leaf, i64 begin, std::span<const std::byte> data) override {
    if (std::byte* seen = host_view(leaf)) return void(std::memcpy(seen + begin, data.data(), data.size()));
    staging_.write(place(leaf, begin, i64(data.size())), data.data(), i64(data.size()));
  }
  void read_part(const Leaf& leaf, i64 begin, std::span<std::byte> out) override {
    if (const std::byte* seen = host_view(leaf)) return void(std::memcpy(out.data(), seen + begin, out.size()));
    staging_.read(out.data(), executor_.leaf(leaf) + begin, i64(out.size()));
  }
  void fill_part(const Leaf& leaf, i64 begin, i64 bytes, const Put& put) override {
    if (std::byte* seen = host_view(leaf)) return put(seen + begin);
    fills_.write(place(leaf, begin, bytes), bytes, put);
  }
  bool hold(std::span<const Part> parts) override {
    constexpr i64 kSpare = i64{1} << 30;  // for code of kernels that run for the first time
    cuda::Device& device = executor_.device();
    const i64 bytes = cuda::HeldParts::bytes_of(parts), free = device.free_bytes();
    const i64 own = executor_.plan().arena_bytes + kSpare;
    if (bytes + kSpare > free || bytes + own > device.total_bytes()) return false;
    try {
      held_.emplace(device, parts);
    } catch (const Error&) {
      return false;
    }
    *held_bytes_ = held_->bytes();
    fills_.allocate();
    return true;
  }
  void let_go() override { held_.reset(), *held_bytes_ = 0; }
  void take_memory() override {
    executor_.take_memory();
    if (held_) held_->move_to(executor_.arena());
    let_go();
  }
  std::byte* host_memory(i64 bytes) override { return copies_.memory(bytes); }
  bool is_host_memory_ready(double seconds) const override { return copies_.is_memory_ready(seconds); }
  void copy_on_device(i64 bytes) override { copies_.use_device(bytes); }
  void begin_copies(std::span<const Copy> copies) override {
    copies_.begin();
    for (const Copy& c : copies) {
      const std::byte* from = executor_.leaf(*c.leaf) + c.begin;
      c.leaf->host ? copies_.add_from_host(c.to, from) : copies_.add(c.to, from);
    }
    copies_.end();
  }
  void wait_for_copies() override { copies_.wait(); }
  void draw(const Leaf& leaf, const Draw& d) override {
    cuda::draw(d, leaf.type, executor_.plan().mesh, executor_.coord(), executor_.leaf(leaf),
               executor_.device().stream());
  }
  std::vector<u64> hash(std::span<const Leaf* const> leaves) override {
    std::vector<cuda::LeafHashes::Block> blocks;
    for (const Leaf* leaf : leaves) blocks.push_back({leaf->type, executor_.leaf(*leaf)});
    return hashes_.of(blocks, executor_.plan().mesh, executor_.coord(), executor_.device().stream());
  }
  std::byte* host_view(const Leaf& leaf) override {
    if (!leaf.host) return nullptr;
    cuda::check_cuda(cudaSetDevice(executor_.device().ordinal()), "looking at the optimizer's state");  // on any thread
    cuda::check_cuda(cudaStreamSynchronize(executor_.device().stream()), "looking at the optimizer's state");
    return executor_.leaf(leaf);
  }
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
  double arrived(int ticket) override { return requests_.arrived(ticket); }
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
  double own_seconds() override { return executor_.own_seconds(); }
  bool time_by_tags(const TimeTags& tags) override {
    executor_.time_by_tags(tags);
    return true;
  }
  void tell_reductions(std::function<void(double seconds)> told) override {
    executor_.tell_reductions(std::move(told));
  }
  void skip_time() override { executor_.skip_time(); }
  TagSeconds tag_seconds() override { return executor_.tag_seconds(); }
  std::vector<double> time_instructions(int program) override { return executor_.time_instructions(program); }

 private:
  const Buffer& buffer(int program, const std::string& output) const {
    const Program& p = executor_.plan().programs[program];
    return p.buffers[p.outputs.at(output)];
  }
  // Of bytes to write: while there is no arena, in what is held for it.
  std::byte* place(const Leaf& leaf, i64 begin, i64 bytes) {
    if (executor_.has_memory()) return executor_.leaf(leaf) + begin;
    check(held_.has_value(), "leaf {} has no memory yet", leaf.name);
    return held_->at(leaf, begin, bytes);
  }
  cuda::Executor executor_;
  std::optional<cuda::HeldParts> held_;
  i64* held_bytes_;
  cuda::Staging staging_;
  cuda::FillRing fills_;
  cuda::HostCopies copies_;
  cuda::Requests requests_;
  cuda::Transfers transfers_;
  cuda::LeafHashes hashes_;
  std::vector<double> scalars_;
};

class CudaBackend final : public Backend, public TellsFacts, public DefersMemory {
 public:
  explicit CudaBackend(const CudaOptions& o) : device_(ordinal(o), o.gemm_cache), is_shared_(o.is_shared) {
    if (!o.ranks || o.ranks->size() == 1) return;
    comms_ = cuda::make_comms(*o.ranks, device_);
    const cuda::SymmetricComms::Settings symmetric{.takes_part = o.symmetric_memory};
    comms_ = std::make_unique<cuda::SymmetricComms>(*o.ranks, device_, std::move(comms_), symmetric);
    watch_ = std::make_unique<cuda::Watch>(*o.ranks, *comms_, cuda::WatchOptions{.timeout_seconds = o.timeout_seconds});
    peers_.emplace(cuda::Peers{*o.ranks, *comms_, *watch_});
  }
  std::string name() const override { return "cuda"; }
  std::string device_name() const override { return device_.name(); }
  std::string device_place() const override { return device_.bus_place(); }
  i64 workspace_bytes(const Graph& g, const Node& n) const override { return cuda::workspace_bytes(device_, g, n); }
  bool has_coded_kernel(const Graph& g, const Node& n) const override {
    return cuda::has_coded_kernel(g, n, device_.sizes());
  }
  // Memory of the context and the libraries on the GPU; kernels' code is loaded at first use.
  i64 fixed_bytes() const override {
    device_.blas(), device_.dnn();
    return (device_.total_bytes() - device_.free_bytes() - held_bytes_) * (is_shared_ ? 2 : 1) + sharing_bytes_;
  }
  i64 available_bytes() const override { return device_.total_bytes(); }
  i64 peak_bytes() const override { return device_.total_bytes() - device_.free_bytes(); }
  std::optional<i64> host_bytes() const override {
    return resident_bytes() + cuda::Staging::kBytes + cuda::FillRing::kBytes;
  }
  void tell(DeviceFacts& facts) const override {
    facts.memory_bytes = device_.total_bytes(), facts.reserved_bytes = fixed_bytes();
    cuda::tell(device_, facts);
  }
  void connect(const Plan& plan, const Coord& coord, std::span<const Link> links) const override {
    if (!peers_) return;
    std::vector<cuda::CommunicatorGroup> needed = cuda::communicator_groups_of(plan, coord);
    for (const Link& l : links) needed.push_back(cuda::link_of(l.from, l.to, l.channel));
    comms_->connect(needed);
    sharing_bytes_ = comms_->sharing_bytes(plan.arena_bytes);
  }
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    connect(plan, coord, {});
    return std::make_unique<CudaInterpreter>(plan, coord, device_, peers_ ? &*peers_ : nullptr);
  }
  std::unique_ptr<Interpreter> make_deferred(const Plan& plan, const Coord& coord) const override {
    if (plan.host_bytes > 0) return nullptr;
    connect(plan, coord, {});
    return std::make_unique<CudaInterpreter>(plan, coord, device_, peers_ ? &*peers_ : nullptr, &held_bytes_);
  }

 private:
  static int ordinal(const CudaOptions& o) {
    if (!o.ranks || o.ranks->size() == 1) return o.device;
    if (o.sees_own) return 0;
    const Place& place = o.ranks->place();
    check(place.local_rank < cuda_device_count(),
          "rank {} is number {} of the {} ranks on its host, which has {} GPUs: start one rank a GPU", place.rank,
          place.local_rank, place.local_size, cuda_device_count());
    return place.local_rank;
  }

  mutable cuda::Device device_;
  mutable i64 held_bytes_ = 0;     // of the state, beside the plan's memory for a while
  mutable i64 sharing_bytes_ = 0;  // that sharing the next plan's memory takes
  const bool is_shared_;
  // For several ranks. Members below use those above.
  std::unique_ptr<cuda::Comms> comms_;
  std::unique_ptr<cuda::Watch> watch_;
  std::optional<cuda::Peers> peers_;
};

}  // namespace

void settle_cuda_driver() { cuda::settle_driver(); }

int cuda_device_count() {
  int devices = 0;
  return cuda::count_devices(devices) == cudaSuccess ? devices : 0;
}

std::string why_no_cuda() {
  int devices = 0, driver = 0;
  const cudaError_t status = cuda::count_devices(devices);
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
