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
  // Does the one-time work of the first such run in advance, so that it does not happen while ranks wait for each
  // other.
  virtual void make_ready(int program, bool first, int slot) = 0;
  // Sends a copy of a leaf to rank `peer`, or receives it, concurrently with work that is enqueued later. Each waits
  // for the work enqueued before. Messages of a channel between two ranks arrive in order. Returns a ticket. Both are
  // for pipelines; other transfers are relayouts in programs.
  virtual int send(const Leaf& leaf, int slot, int peer, int channel) = 0;
  virtual int receive(const Leaf& leaf, int slot, int peer, int channel) = 0;
  // Work queued from here on waits for the transfer.
  virtual void join(int ticket) = 0;

  // Copies a leaf's local block from or to host memory; sizes are the leaf's. A write has its place in the queue, and
  // `data` may be reused on return. A read waits.
  virtual void write(const Leaf& leaf, const void* data, int slot = 0) = 0;
  virtual void read(const Leaf& leaf, void* data) = 0;
  // The same for a part of it, from its byte `begin` on. Several threads may write at the same time.
  virtual void write_part(const Leaf& leaf, i64 begin, std::span<const std::byte> data) = 0;
  virtual void read_part(const Leaf& leaf, i64 begin, std::span<std::byte> out) = 0;

  // Host memory for copies of leaves, at least this many bytes. Each call returns the same memory, which lives until
  // the end.
  virtual std::byte* host_memory(i64 bytes) = 0;
  // For a device: makes the first `bytes` of the copies in its own memory, allocated now and kept until the end.
  // Updates enqueued later do not wait for their transfer to the host.
  virtual void copy_on_device(i64 bytes) = 0;
  // Starts copies of parts of parameters and optimizer state there, with their values after the work enqueued so far.
  // They run concurrently with later work. The first update of it waits for them before it writes.
  struct Copy {
    const Leaf* leaf;
    i64 begin;  // byte of its local block
    std::span<std::byte> to;
  };
  virtual void begin_copies(std::span<const Copy> copies) = 0;
  virtual void wait_for_copies() = 0;  // until they are made; on any thread

  // Fills a leaf's local block with random numbers: f32, the nearest bf16 or f16, or what that lacks (u16,
  // base/split_float.h).
  virtual void draw(const Leaf& leaf, const Draw& draw) = 0;
  // A leaf's memory itself where the host can see it, so that saving copies nothing; nullptr elsewhere.
  virtual std::byte* host_view(const Leaf& leaf) = 0;
  // An f64 output of a program's last run; waits for it.
  virtual std::span<const double> scalars(int program, const std::string& output) = 0;
  // Any output's bytes, in the same way.
  virtual void read_output(int program, const std::string& output, void* data) = 0;

  // Requests a copy of an f64 output after the run enqueued last, and returns a ticket for it. A few may be open at
  // once.
  virtual int request(int program, const std::string& output) = 0;
  virtual bool ready(int ticket) = 0;                // take() will not wait
  virtual double arrived(int ticket) = 0;            // waits; when that was, by steady_seconds()
  virtual std::vector<double> take(int ticket) = 0;  // waits; ends the ticket
  // Writes the result of `fill` on requested values that are not taken yet. So one run's result enters the next run
  // without a wait of the host. `fill` may run on another thread, and must not throw.
  using Fill = std::function<void(std::span<const double> values, std::byte* data)>;
  virtual void write_after(int ticket, const Leaf& leaf, Fill fill) = 0;

  // For profilers: while it is on they record, and programs run instruction by instruction, each in a range of its
  // op's name.
  virtual void profile(bool on) = 0;
  // Seconds that the runs since the last call took by the device's own clock; waits. Counted from the first call on.
  virtual double busy_seconds() = 0;
  // Seconds of the runs that ended since the last call in which this rank worked by itself: without its transfers and
  // what it waited for other ranks. Does not wait. Counted from the first call on, which comes before the first run.
  virtual double own_seconds() = 0;
  // Reports the seconds that this rank spends in each all-reduce and reduce-scatter over data- and context-parallel
  // ranks. For one that overlaps with computation it is the time that the computation waits. A device without such a
  // clock reports none.
  virtual void tell_reductions(std::function<void(double seconds)> /*told*/) {}
  // Runs a program and times each of its instructions, in seconds.
  virtual std::vector<double> time_instructions(int program) = 0;
  // Lets someone look into the runs from here on (run_watch.h); nullptr: nobody. False: this device cannot, its
  // instructions run by themselves.
  virtual bool watch(RunWatch*) { return false; }
  // Times the runs from here on by the device's own clock, which is read where the tag changes. Nobody waits for it.
  // False: this device has no such clock.
  virtual bool time_by_tags(const TimeTags&) { return false; }
  virtual void skip_time() {}  // what passed since the last run counts to nothing
  virtual TagSeconds tag_seconds() { return {}; }
};

// The messages of one rank to another on a channel (Interpreter::send).
struct Link {
  int from, to, channel;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;                                  // "cpu", "cuda"
  virtual std::string device_name() const = 0;                           // "NVIDIA H200"
  virtual bool has_f16() const { return true; }                          // kernels of f16, and of a scaled loss
  virtual std::string bf16_products() const { return {}; }               // how, where that depends on the machine
  virtual i64 workspace_bytes(const Graph& g, const Node& n) const = 0;  // in addition to the node's buffers
  // Of the memory that plans live in, which is the device's own if it has one:
  virtual i64 fixed_bytes()
      const = 0;  // of the process in addition to its plan: its current memory, and what starting a run adds
  virtual i64 available_bytes() const = 0;  // that the process may have, with what it has now
  virtual i64 peak_bytes() const = 0;       // the most that the process had so far
  // A run's use of the host's memory, if the device has its own. Empty if they are the same.
  virtual std::optional<i64> host_bytes() const = 0;
  // Names of the passes that this backend is better off without.
  virtual std::set<std::string> passes_off() const { return {}; }
  // Connects this rank with the ranks of the plan's relayouts and of its links. It allocates memory, so it comes
  // before fixed_bytes(). All ranks must call it at the same time, outside of code that may fail on one rank only.
  virtual void connect(const Plan&, const Coord&, std::span<const Link> = {}) const {}
  // With several ranks all must call it at the same time: it creates the missing connections.
  virtual std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const = 0;
  virtual std::string device_place() const { return {}; }  // of a GPU on its bus: "0000:1b:00.0"
};

}  // namespace megalith
