// The training loop's interface to a backend: one part gives sizes to the planner, the other runs a plan for one
// rank.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/draw.h"
#include "plan/plan.h"
#include "plan/time_tags.h"

namespace megalith {

class RunWatch;

class Interpreter {
 public:
  virtual ~Interpreter() = default;
  // Runs a program of the plan, or enqueues it on the device and returns. `first`: accumulators restart (a step's
  // first micro-batch). `slot`: which copy of leaves that have several.
  virtual void run(int program, bool first, int slot = 0) = 0;
  // Does the one-time work of a first run with these arguments in advance. So it does not happen while ranks wait for
  // each other.
  virtual void make_ready(int program, bool first, int slot) = 0;
  // Sends a copy of a leaf to rank `peer`, or receives it, concurrently with work that is enqueued later. Each waits
  // for the work enqueued before. Messages of a channel between two ranks arrive in order. Returns a ticket. Both are
  // for pipelines; other transfers are relayouts in programs.
  virtual int send(const Leaf& leaf, int slot, int peer, int channel) = 0;
  virtual int receive(const Leaf& leaf, int slot, int peer, int channel) = 0;
  // Work that is queued after this call waits for the transfer.
  virtual void join(int ticket) = 0;

  // Copies a leaf's local block from or to host memory. The size of `data` is the leaf's. A write is queued, and `data`
  // may be reused on return. A read waits.
  virtual void write(const Leaf& leaf, const void* data, int slot = 0) = 0;
  virtual void read(const Leaf& leaf, void* data) = 0;
  // The same for a part of the block, from byte `begin` on. Several threads may write at the same time.
  virtual void write_part(const Leaf& leaf, i64 begin, std::span<const std::byte> data) = 0;
  virtual void read_part(const Leaf& leaf, i64 begin, std::span<std::byte> out) = 0;

  // Host memory for copies of leaves, of at least this many bytes. Each call returns the same memory, which lives until
  // the end.
  virtual std::byte* host_memory(i64 bytes) = 0;
  // On a device: the first `bytes` of the copies are made in device memory, which is allocated now and kept until the
  // end. Updates enqueued later do not wait for their transfer to the host.
  virtual void copy_on_device(i64 bytes) = 0;
  // Starts copies of parts of parameters and optimizer state into host_memory(). They have the values after the work
  // enqueued so far. They overlap later work. The first update of a part waits for its copy before it writes.
  struct Copy {
    const Leaf* leaf;
    i64 begin;  // byte of its local block
    std::span<std::byte> to;
  };
  virtual void begin_copies(std::span<const Copy> copies) = 0;
  virtual void wait_for_copies() = 0;  // waits until they are made; callable on any thread

  // Fills a leaf's local block with random numbers: f32, the nearest bf16 or f16, or the low half (u16) of the f32
  // number (base/split_float.h).
  virtual void draw(const Leaf& leaf, const Draw& draw) = 0;
  // The leaf's own memory if the host can access it, so that a save copies nothing; else nullptr.
  virtual std::byte* host_view(const Leaf& leaf) = 0;
  // An f64 output of a program's last run; waits for it.
  virtual std::span<const double> scalars(int program, const std::string& output) = 0;
  // The bytes of any output of the last run; waits for it.
  virtual void read_output(int program, const std::string& output, void* data) = 0;

  // Requests a copy of an f64 output after the run enqueued last, and returns a ticket for it. A few may be open at
  // once.
  virtual int request(int program, const std::string& output) = 0;
  virtual bool ready(int ticket) = 0;                // take() will not wait
  virtual double arrived(int ticket) = 0;            // waits; returns the arrival time, by steady_seconds()
  virtual std::vector<double> take(int ticket) = 0;  // waits; ends the ticket
  // Writes the result of `fill` to a leaf in the queue. Its input is the requested values that are not taken yet. So
  // one run's result enters the next run, and the host does not wait. `fill` may run on another thread, and must not
  // throw.
  using Fill = std::function<void(std::span<const double> values, std::byte* data)>;
  virtual void write_after(int ticket, const Leaf& leaf, Fill fill) = 0;

  // For profilers: while on, they record. Programs then run instruction by instruction, each in a range with its op's
  // name.
  virtual void profile(bool on) = 0;
  // Seconds of the runs since the last call, by the device's own clock; waits. Counts from the first call on.
  virtual double busy_seconds() = 0;
  // Seconds in which this rank worked by itself in the runs that ended since the last call. Its transfers and its waits
  // for other ranks do not count. Does not wait. Counts from the first call on, which comes before the first run.
  virtual double own_seconds() = 0;
  // Reports the seconds that this rank spends in each all-reduce and reduce-scatter over data- and context-parallel
  // ranks. For a transfer that overlaps computation it is the time that the computation waits. A device without such a
  // clock reports none.
  virtual void tell_reductions(std::function<void(double seconds)> /*told*/) {}
  // Runs a program and times each of its instructions, in seconds.
  virtual std::vector<double> time_instructions(int program) = 0;
  // Attaches an observer to all later runs (run_watch.h); nullptr detaches it. False if this device cannot, because its
  // instructions run by themselves.
  virtual bool watch(RunWatch*) { return false; }
  // Times all later runs by the device's own clock, which is read where the tag changes. The host does not wait for it.
  // False if this device has no such clock.
  virtual bool time_by_tags(const TimeTags&) { return false; }
  virtual void skip_time() {}  // the time since the last run counts for no tag
  virtual TagSeconds tag_seconds() { return {}; }
};

// The messages of one rank to another on a channel (Interpreter::send).
struct Link {
  int from, to, channel;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;         // "cpu", "cuda"
  virtual std::string device_name() const = 0;  // "NVIDIA H200"
  // Which of a build's sets of kernels it runs, if there are several. Two sets round differently.
  virtual std::string kernels() const { return {}; }
  virtual std::string bf16_products() const { return {}; }  // how they are computed, if that depends on the machine
  virtual i64 workspace_bytes(const Graph& g, const Node& n) const = 0;  // in addition to the node's buffers
  // Whether one kernel computes the node, a CodedResult (ops/coded_result.h).
  virtual bool has_coded_kernel(const Graph&, const Node&) const { return false; }
  // The next three are about the memory that holds plans: the device's own, if it has one.
  virtual i64 fixed_bytes()
      const = 0;  // of the process in addition to its plan: its current memory, and what starting a run adds
  virtual i64 available_bytes() const = 0;  // that the process may have, with what it has now
  virtual i64 peak_bytes() const = 0;       // the most that the process had so far
  // The host memory that a run uses, if the device has its own memory. Empty if both are the same.
  virtual std::optional<i64> host_bytes() const = 0;
  // Names of the passes that would make this backend slower.
  virtual std::set<std::string> passes_off() const { return {}; }
  // Connects this rank with the ranks of the plan's relayouts and links. It allocates memory, so it comes before
  // fixed_bytes(). All ranks must call it at the same time, outside of code that may fail on one rank only.
  virtual void connect(const Plan&, const Coord&, std::span<const Link> = {}) const {}
  // With several ranks all must call it at the same time, because it creates the missing connections.
  virtual std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const = 0;
  virtual std::string device_place() const { return {}; }  // of a GPU on its bus: "0000:1b:00.0"
};

}  // namespace megalith
