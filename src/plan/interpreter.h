// What the training loop knows of a backend: something that plans can ask for sizes, and something that runs a plan for
// one rank.
#pragma once
#include <memory>
#include <set>
#include <span>
#include <string>

#include "plan/plan.h"

namespace megalith {

class Interpreter {
 public:
  virtual ~Interpreter() = default;
  // Runs a program of the plan. `first`: accumulators start anew (a step's first micro-batch).
  virtual void run(int program, bool first) = 0;
  // Copies a leaf's local block from or to host memory; sizes are the leaf's.
  virtual void write(const Leaf& leaf, const void* data) = 0;
  virtual void read(const Leaf& leaf, void* data) = 0;
  // A leaf's memory itself where the host can see it, so that saving copies nothing; nullptr elsewhere.
  virtual const std::byte* host_view(const Leaf& leaf) = 0;
  // An f64 output of a program's last run; waits for it.
  virtual std::span<const double> scalars(int program, const std::string& output) = 0;
  // Any output's bytes, likewise.
  virtual void read_output(int program, const std::string& output, void* data) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  virtual i64 workspace_bytes(const Graph& g, const Node& n) const = 0;  // beside the node's buffers
  virtual i64 fixed_bytes() const = 0;  // of the process beside its plan: what it has now, and what starting a run adds
  virtual i64 available_bytes() const = 0;  // memory that the process may have, with what it has now
  virtual i64 peak_bytes() const = 0;       // the most memory that the process had so far
  // Names of the passes that this backend is better off without.
  virtual std::set<std::string> passes_off() const { return {}; }
  virtual std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const = 0;
};

}  // namespace megalith
