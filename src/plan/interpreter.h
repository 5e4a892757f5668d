// What the training loop knows of a backend: something that plans can ask for sizes, and something that runs a plan for
// one rank.
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
  // Runs a program of the plan, or puts it in the device's queue and returns. `first`: accumulators start anew (a
  // step's first micro-batch). `slot`: which copy of those leaves that have several.
  virtual void run(int program, bool first, int slot = 0) = 0;
  // Does beforehand what the first such run does once, so that it does not come to it while ranks wait for each other.
  virtual void make_ready(int program, bool first, int slot) = 0;
  // A copy of a leaf goes to the rank `peer`, or comes from there, beside the work that is queued later; each waits for
  // the work queued before. Between two ranks, what is sent on a channel is received on it, in the same order. Returns
  // a ticket. Both are for pipelines; other transfers are relayouts within programs.
  virtual int send(const Leaf& leaf, int slot, int peer, int channel) = 0;
  virtual int receive(const Leaf& leaf, int slot, int peer, int channel) = 0;
  // Work queued from here on waits for the transfer.
  virtual void join(int ticket) = 0;

  // Copies a leaf's local block from or to host memory; sizes are the leaf's. A write takes its place in the queue, and
  // `data` is free again on return; reading waits.
  virtual void write(const Leaf& leaf, const void* data, int slot = 0) = 0;
  virtual void read(const Leaf& leaf, void* data) = 0;
  // The same of a part of it, from its byte `begin` on. Several threads may write at a time.
  virtual void write_part(const Leaf& leaf, i64 begin, std::span<const std::byte> data) = 0;
  virtual void read_part(const Leaf& leaf, i64 begin, std::span<std::byte> out) = 0;

  // Memory of the host that copies of leaves go to, at least so many bytes; the same each time, kept until the end.
  virtual std::byte* host_memory(i64 bytes) = 0;
  // Of a device: has the first so many bytes of the copies made in memory of its own, taken now and kept until the end.
  // Updates queued later do not wait for their way to the host.
  virtual void copy_on_device(i64 bytes) = 0;
  // Starts copying parts of parameters and of the optimizer's state there, as the work queued so far leaves them. The
  // copies are made beside the work that is queued later; the first update in it waits for them before it writes.
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
  // Any output's bytes, likewise.
  virtual void read_output(int program, const std::string& output, void* data) = 0;

  // Asks for a copy of an f64 output as the run queued last leaves it, and returns a ticket for it. A few can be open
  // at once.
  virtual int request(int program, const std::string& output) = 0;
  virtual bool ready(int ticket) = 0;                // take() will not wait
  virtual double arrived(int ticket) = 0;            // waits; when that was, by steady_seconds()
  virtual std::vector<double> take(int ticket) = 0;  // waits; ends the ticket
  // A write of what `fill` makes of requested values, which are not taken yet: so one run's result goes into the next
  // one without the host's waiting. `fill` may be called on another thread, and must not throw.
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
  // Has the seconds told that this rank spends in each all-reduce and reduce-scatter over data- and context-parallel
  // ranks: of one that runs beside the work, those in which the work stood still for it. A device that has no such
  // clock tells none.
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

// What one rank sends to another on a channel (Interpreter::send).
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
  virtual i64 workspace_bytes(const Graph& g, const Node& n) const = 0;  // beside the node's buffers
  // Of the memory that plans live in, which is the device's own if it has one:
  virtual i64 fixed_bytes() const = 0;  // of the process beside its plan: what it has now, and what starting a run adds
  virtual i64 available_bytes() const = 0;  // that the process may have, with what it has now
  virtual i64 peak_bytes() const = 0;       // the most that the process had so far
  // What a run takes of the host's memory, if the device has its own; nothing if they are the same.
  virtual std::optional<i64> host_bytes() const = 0;
  // Names of the passes that this backend is better off without.
  virtual std::set<std::string> passes_off() const { return {}; }
  // Connects this rank with those that the plan's relayouts and the links, at one end of which it is, need. It takes
  // memory, so it comes before fixed_bytes(). All ranks must call it at the same time, outside of what may fail on one
  // of them alone.
  virtual void connect(const Plan&, const Coord&, std::span<const Link> = {}) const {}
  // With several ranks all must call it at the same time: it connects what is not connected yet.
  virtual std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const = 0;
  virtual std::string device_place() const { return {}; }  // of a GPU on its bus: "0000:1b:00.0"
};

}  // namespace megalith
