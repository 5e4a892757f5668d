// A clock from a device's facts. A kernel takes as long as measured kernels of near sizes. A transfer's time follows
// from the links, and depends on whether its ranks are in one node.
#pragma once
#include <limits>
#include <map>
#include <mutex>

#include "exec/sim/clock.h"
#include "exec/sim/kernel_kind.h"
#include "facts/device_facts.h"

namespace megalith::sim {

// Flops a second of a product whose form was not measured: two thirds of the data sheet's peak. codes: it reads fp8.
double unmeasured_rate(const DeviceFacts& facts, bool codes);

class FactsClock final : public Clock {
 public:
  explicit FactsClock(const DeviceFacts& facts, const Coord& coord = {});
  Took seconds(const Plan& plan, const Program& program, const Instruction& in) const override;
  double send(double bytes, int from, int to) const override;
  double together() const override { return facts_.together; }
  // Without measured values a transfer is not slowed, and overlap_slowdown slows all kernels.
  BesideFacts beside() const override {
    const double all = facts_.overlap_slowdown;
    return facts_.beside.value_or(BesideFacts{all, all, all, 1});
  }

  double seconds(const KernelKind& kind) const;
  // Seconds for `wire` bytes that one rank sends of a message of `whole` bytes, from measured transfers of this kind.
  // It uses those with the most similar number of ranks. Nothing if none were measured, or the ranks are not in one
  // node.
  std::optional<double> measured(std::string_view kind, bool lane, double wire, double whole,
                                 const std::vector<int>& ranks) const;
  // Seconds for `bytes` that one rank sends of a message of `whole` bytes among these ranks. pairs: each rank sends to
  // each, not in a ring.
  double transfer(double bytes, double whole, const std::vector<int>& ranks, bool pairs = false) const;

 private:
  // Whether these ranks move the parts of a tensor one by one.
  bool moves_parts(const std::vector<int>& ranks) const;
  using Forms = std::map<std::string, std::vector<const KernelFact*>>;
  const KernelFact* exact(const KernelKind& kind, const Forms& forms) const;
  double rate(const KernelKind& kind, const Forms& forms) const;
  double new_rate(const KernelKind& kind, const Forms& forms) const;
  // Whether the measured kernels of this form tell their bytes.
  bool tells_bytes(const KernelKind& kind, const Forms& forms) const;
  double computing(const KernelFact& f) const;
  double seconds_like(const KernelFact& f, const KernelKind& kind) const;
  double moving(double bytes) const;
  double without_facts(const KernelKind& kind) const;
  const Forms& forms_of(const KernelKind& kind) const;

  const DeviceFacts& facts_;
  Coord coord_;
  Forms products_, attention_, kernels_;
  double shortest_ = std::numeric_limits<double>::infinity();               // seconds of the shortest recorded kernel
  using Rates = std::map<std::string, std::map<std::vector<i64>, double>>;  // by form and sizes
  mutable std::mutex mutex_;
  mutable std::map<KernelKind::Table, Rates> rates_;  // layers are alike, and threads of a search share a clock
};

}  // namespace megalith::sim
