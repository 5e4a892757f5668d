// All ranks of a small mesh in one process: one CPU executor for each rank, instruction by instruction. Relayouts are
// index arithmetic.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exec/cpu/executor.h"
#include "tests/harness/tensor.h"

namespace megalith::harness {

// A graph's nodes of all phases as one program, "graph". Its outputs stay readable.
Plan plan_graph(const Graph& g);

class RankSet {
 public:
  // An injected fault: if it performs the instruction itself, it returns true.
  using Fault = std::function<bool(RankSet&, int program, const Instruction&)>;

  explicit RankSet(Plan plan, Fault fault = {});

  void run(const std::string& program, bool first = true);

  void write(const std::string& leaf, const Tensor& logical);
  Tensor read(const std::string& leaf);
  Tensor output(const std::string& program, const std::string& name);

  // For faults: a rank's content of a buffer, and running a node's kernel with the coordinates of another rank.
  Blocks blocks(int program, int buffer);
  void set_blocks(int program, int buffer, const Blocks& blocks);
  void run_at(int program, const Instruction& in, const std::function<Coord(Coord)>& where);

  const Plan& plan() const { return plan_; }
  const Mesh& mesh() const { return plan_.mesh; }

 private:
  bool has_scale(int program, const Instruction& in);
  void relayout(int program, const Instruction& in, const Relayout& op);

  Plan plan_;
  Fault fault_;
  std::vector<std::unique_ptr<cpu::Executor>> ranks_;
};

}  // namespace megalith::harness
