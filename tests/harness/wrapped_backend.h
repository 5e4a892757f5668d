// Wraps a backend, so that a test can change a part of it.
#pragma once
#include <memory>
#include <string>

#include "plan/interpreter.h"

namespace megalith::test {

class WrappedBackend : public Backend {
 public:
  explicit WrappedBackend(std::unique_ptr<Backend> real) : real_(std::move(real)) {}
  std::string name() const override { return real_->name(); }
  std::string device_name() const override { return real_->device_name(); }
  std::string kernels() const override { return real_->kernels(); }
  std::string bf16_products() const override { return real_->bf16_products(); }
  i64 workspace_bytes(const Graph& g, const Node& n) const override { return real_->workspace_bytes(g, n); }
  i64 fixed_bytes() const override { return real_->fixed_bytes(); }
  i64 available_bytes() const override { return real_->available_bytes(); }
  i64 peak_bytes() const override { return real_->peak_bytes(); }
  std::optional<i64> host_bytes() const override { return real_->host_bytes(); }
  std::set<std::string> passes_off() const override { return real_->passes_off(); }

 protected:
  std::unique_ptr<Backend> real_;
};

}  // namespace megalith::test
