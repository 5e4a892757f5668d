// The CPU backend with facts that calibrate recorded: plans are the CPU's, and predictions follow the facts.
#pragma once
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "facts/device_facts.h"
#include "plan/interpreter.h"

namespace megalith::sim {

class MeasuredBackend final : public Backend {
 public:
  MeasuredBackend(std::unique_ptr<Backend> real, DeviceFacts facts)
      : real_(std::move(real)), facts_(std::move(facts)) {}
  const DeviceFacts& facts() const { return facts_; }

  std::string name() const override { return real_->name(); }
  std::string device_name() const override {
    return fmt::format("{} (facts of {})", real_->device_name(), facts_.name);
  }
  std::string kernels() const override { return real_->kernels(); }
  std::string bf16_products() const override { return real_->bf16_products(); }
  i64 workspace_bytes(const Graph& g, const Node& n) const override { return real_->workspace_bytes(g, n); }
  bool has_coded_kernel(const Graph& g, const Node& n) const override { return real_->has_coded_kernel(g, n); }
  i64 fixed_bytes() const override { return real_->fixed_bytes(); }
  i64 available_bytes() const override { return real_->available_bytes(); }
  i64 peak_bytes() const override { return real_->peak_bytes(); }
  std::optional<i64> host_bytes() const override { return real_->host_bytes(); }
  std::set<std::string> passes_off() const override { return real_->passes_off(); }
  void connect(const Plan& plan, const Coord& coord, std::span<const Link> links) const override {
    real_->connect(plan, coord, links);
  }
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    return real_->make_interpreter(plan, coord);
  }

 private:
  std::unique_ptr<Backend> real_;
  DeviceFacts facts_;
};

}  // namespace megalith::sim
