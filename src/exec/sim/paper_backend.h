// A GPU that need not be here, as a backend: plans are made for it as on the card, and run against a clock. What
// kernels of our own need is counted as the card does it; what libraries ask for comes from the facts, or is bounded.
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
