// A backend for a GPU that need not exist. Plans are the same as on the real GPU, and run against a clock. The
// workspaces of our kernels are computed as on the GPU. Those of libraries come from the facts, or are bounded.
#pragma once
#include <memory>

#include "facts/device_facts.h"
#include "plan/interpreter.h"

namespace megalith::sim {

class PaperBackend : public Backend {
 public:
  virtual const DeviceFacts& facts() const = 0;
  // Lines that name the workspaces that were bounded in plans so far, because the facts lack them.
  virtual std::vector<std::string> bounded() const = 0;
};
std::unique_ptr<PaperBackend> make_shared_paper_backend(std::shared_ptr<const DeviceFacts> facts,
                                                        bool symmetric_memory = true);
std::unique_ptr<PaperBackend> make_paper_backend(DeviceFacts facts, bool symmetric_memory = true);

}  // namespace megalith::sim
