// Relayouts on lanes and the Waits that end them, which may be in another program.
#pragma once
#include <vector>

#include "plan/plan.h"

namespace megalith {

struct InstructionPlace {
  int program = -1, instruction = -1;
  explicit operator bool() const { return program >= 0; }
};

// By program and instruction: for a Wait the relayout that it ends; empty for others. The relayout started earlier in
// the same program, or writes the leaf that the Wait reads. Error if a Wait has no relayout, or a relayout on a lane
// has no Wait.
std::vector<std::vector<InstructionPlace>> origins_of_waits(const Plan& plan);

bool runs(const ProgramSpec& program, const Node& node);  // whether the node is one of the program's

// Relayouts on lanes that this program starts and does not end, by their results. They read and write leaves.
std::map<Value, const Node*> left_open(const ProgramSpec& program);

}  // namespace megalith
