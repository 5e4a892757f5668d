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

namespace megalith {

class Interpreter {
 public:
  virtual ~Interpreter() = default;
  // Runs a program of the plan, or puts it in the device's queue and returns. `first`: accumulators start anew (a
  // step's first micro-batch). `slot`: which copy of those leaves that have several.
  virtual void run(int program, bool first, int slot = 0) = 0;
  // A copy of a leaf goes to the rank `peer`, or comes from there, beside the work that is queued later; each waits for
  // the work queued before. Between two ranks, what is sent on a channel is received on it, in the same order. Returns a
  // ticket. Both are for pipelines; other transfers are relayouts within programs.
  virtual int send(const Leaf& leaf, int slot, int peer, int channel) = 0;
  virtual int receive(const Leaf& leaf, int slot, int peer, int channel) = 0;
  // Work queued from here on waits for the transfer.
  virtual void join(int ticket) = 0;

  // Copies a leaf's local block from or to host memory; sizes are the leaf's. A write takes its place in the queue, and
  // `data` is free again on return; reading waits.
  virtual void write(const Leaf& leaf, const void* data, int slot = 0) = 0;
  virtual void read(const Leaf& leaf, void* data) = 0;
  // Fills a leaf's local block (f32 or bf16) with random numbers.
  virtual void draw(const Leaf& leaf, const Draw& draw) = 0;
  // A leaf's memory itself where the host can see it, so that saving copies nothing; nullptr elsewhere.
  virtual const std::byte* host_view(const Leaf& leaf) = 0;
  // An f64 output of a program's last run; waits for it.
  virtual std::span<const double> scalars(int program, const std::string& output) = 0;
  // Any output's bytes, likewise.
  virtual void read_output(int program, const std::string& output, void* data) = 0;

  // Asks for a copy of an f64 output as the run queued last leaves it, at most 4 KiB, and returns a ticket for it. A
  // few can be open at once.
  virtual int request(int program, const std::string& output) = 0;
  virtual bool ready(int ticket) = 0;                // take() will not wait
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
  // Runs a program and times each of its instructions, in seconds.
  virtual std::vector<double> time_instructions(int program) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;                                  // "cpu", "cuda"
  virtual std::string device_name() const = 0;                           // "NVIDIA H200"
  virtual i64 workspace_bytes(const Graph& g, const Node& n) const = 0;  // beside the node's buffers
  // Of the memory that plans live in, which is the device's own if it has one:
  virtual i64 fixed_bytes() const = 0;  // of the process beside its plan: what it has now, and what starting a run adds
  virtual i64 available_bytes() const = 0;  // that the process may have, with what it has now
  virtual i64 peak_bytes() const = 0;       // the most that the process had so far
  // What a run takes of the host's memory, if the device has its own; nothing if they are the same.
  virtual std::optional<i64> host_bytes() const = 0;
  // Names of the passes that this backend is better off without.
  virtual std::set<std::string> passes_off() const { return {}; }
  virtual std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const = 0;
};

}  // namespace megalith
