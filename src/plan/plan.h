// The planned step: plain data that can be printed, checked and run. Programs are ordered instructions on buffers.
// Every buffer has an offset in one arena before anything is allocated. One plan serves all ranks of a mesh: only index
// constants differ.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace megalith {

constexpr i64 kAlignment = 256;  // bytes; GPU libraries require it of every buffer
constexpr i64 align_up(i64 bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// State that lives from run to run: parameters, gradients, optimizer state, inputs, scalars, and the values that a
// pipeline stage keeps for the backward. Also what a step's first micro-batch computes for the others. Offsets are
// bytes in the arena. A leaf on the host has its offset in the host's arena.
struct Leaf {
  std::string name;
  Type type;  // logical
  Role role;
  i64 bytes = 0, offset = 0;  // of one rank
  int slots = 1;              // number of consecutive copies; each run of a program gets the one to use
  int bucket = -1;            // the leaf that contains it
  bool host = false;          // whether it is in host memory, if the device has its own
  i64 stride() const { return align_up(bytes); }  // from one copy to the next
};

struct Buffer {
  Type type;  // logical
  i64 bytes = 0, offset = 0;
  int first = -1, last = -1;  // instructions between which it is live; leaves are always live
  int leaf = -1;              // the leaf whose memory it is
};

struct Instruction {
  AnyOp op;
  std::vector<int> ins, outs;  // buffers of the program
  Phase phase;
  Origin origin = {};
  i64 workspace = 0, workspace_bytes = 0;  // offset in the arena, size
  bool first_only = false;                 // runs in a step's first micro-batch only
};

struct Program {
  std::string name;
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;
  std::map<std::string, int> outputs;  // buffers that stay readable after a run
  i64 activation_bytes = 0;            // the peak of its own buffers and workspaces, with gaps
};

struct Plan {
  Mesh mesh;
  std::vector<Leaf> leaves;
  std::vector<Leaf> parts;  // pieces of packed leaves, by their own names
  std::vector<Program> programs;
  i64 leaf_bytes = 0;  // all leaves; activations start here
  i64 arena_bytes = 0;
  i64 host_bytes = 0;  // size of the host's arena

  const Leaf& leaf(const std::string& name) const;        // also of a packed parameter; Error if there is none
  const Leaf* find_leaf(const std::string& name) const;   // nullptr if there is none
  const Program& program(const std::string& name) const;  // Error if there is none
  int index_of(const std::string& name) const;            // likewise
  const Program* find_program(const std::string& name) const;
  i64 bytes(Role role, bool host = false) const;  // all leaves of this role, all slots
  bool on_host(const Buffer& b) const { return b.leaf >= 0 && leaves[size_t(b.leaf)].host; }
  i64 slot_stride(const Buffer& b) const;  // bytes from one slot to the next; 0: there is only one
};

std::string print(const Plan& p);         // every instruction with the offsets of its buffers
std::string memory_table(const Plan& p);  // bytes per category
void verify(const Plan& p);               // live buffers do not overlap, all are inside, ins are defined before use

// The cost of an instruction on one rank, by its op's rule.
Cost cost_of(const Plan& plan, const Program& program, const Instruction& in);

// One program to plan: the nodes of `graph` whose phase is in `phases`. Values that another program of the graph reads
// are kept in leaves named "kept PROGRAM NUMBER". Those of first_only nodes are named "once PROGRAM NUMBER".
struct ProgramSpec {
  std::string name;
  const Graph* graph;
  std::vector<Phase> phases;
  int slots = 1;                       // copies of the graph's inputs and of kept values
  std::vector<std::string> sent = {};  // outputs that are leaves too, by the same names
};

// Lays out the memory of all programs in one arena: leaves once by name, then each program's temporaries, which share
// one region. `workspace`: the backend's function for the bytes that an instruction needs besides its buffers.
Plan plan_memory(const Mesh& mesh, const std::vector<ProgramSpec>& programs,
                 const std::function<i64(const Graph&, const Node&)>& workspace);

}  // namespace megalith
