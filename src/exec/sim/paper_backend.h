// A backend for a GPU that need not exist: plans are the same as on the card, and run against a clock. Our kernels'
// needs are counted as on the card. Those of libraries come from the facts, or are bounded.
#pragma once
#include <memory>

#include "facts/device_facts.h"
#include "plan/interpreter.h"

namespace megalith::sim {

class PaperBackend : public Backend {
 public:
  virtual const DeviceFacts& facts() const = 0;
  // Lines: which workspaces of plans so far were bounded, as the facts do not have them.
  virtual std::vector<std::string> bounded() const = 0;
};
std::unique_ptr<PaperBackend> make_paper_backend(DeviceFacts facts);

}  // namespace megalith::sim
