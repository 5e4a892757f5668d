#include "calibrate/calibrate.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>

#include "base/log.h"
#include "calibrate/timed_step.h"
#include "exec/sim/kernel_kind.h"
#include "facts/tells_facts.h"

namespace megalith {

namespace {

using sim::KernelKind;
using Clock = std::chrono::steady_clock;

std::string today() {
  const std::time_t t = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&t));
  return text;
}

class Recorder {
 public:
  // Kernels' code comes to the device at first use, and is no part of what a run finds there when it is planned.
  explicit Recorder(const Backend& backend)
      : backend_(backend), gpu_(backend.host_bytes().has_value()), reserved_(gpu_ ? backend.fixed_bytes() : 0) {}

  void time(const ModelCase& model) {
    TimedStep timed(model, backend_);
    const StepTimes t = timed.measure(gpu_ ? 1.0 : 0.0);
    const Program& p = timed.program();
    for (size_t i = 0; i < p.instructions.size(); ++i) {
      const KernelKind kind = sim::kind_of(timed.plan(), p, p.instructions[i]);
      if (!(kind.work > 0) || !(t.each[i] > 0)) continue;
      Seen& seen = seen_[{int(kind.table), kind.form, kind.sizes}];
      seen.work = kind.work, seen.seconds.push_back(t.each[i]);
    }
    together_.push_back(t.step / t.all());
    log::say("{}: {} instructions, {:.3f} ms one by one, {:.3f} ms together", model.name(), p.instructions.size(),
             t.all() * 1e3, t.step * 1e3);
  }

  // Planning asks libraries for their workspaces; the backend remembers.
  void plan(const ModelCase& model) { plan_step(model.spec(), backend_); }

  DeviceFacts facts() const {
    DeviceFacts f;
    for (const auto& [key, seen] : seen_) {
      const auto& [table, form, sizes] = key;
      auto& to = table == int(KernelKind::Table::product)     ? f.products
                 : table == int(KernelKind::Table::attention) ? f.attention
                                                              : f.kernels;
      to.push_back({form, sizes, seen.work, median(seen.seconds)});
    }
    f.together = together_.empty() ? 1 : median(together_);
    f.measured = true;
    if (const auto* device = dynamic_cast<const TellsFacts*>(&backend_)) device->tell(f);
    if (f.device.empty()) f.device = backend_.device_name();
    if (f.memory_bytes == 0) f.memory_bytes = backend_.available_bytes();
    f.hbm_gbps = rate_of_largest(f.kernels);
    f.reserved_bytes = reserved_;
    f.recorded = fmt::format("{}{}{}; node, network, host and peak_tflops not measured", today(),
                             f.recorded.empty() ? "" : ", ", f.recorded);
    return f;
  }

 private:
  static double rate_of_largest(const std::vector<KernelFact>& kernels) {
    const KernelFact* most = nullptr;
    for (const KernelFact& k : kernels)  // with marks they do not move all that they count
      if (k.form.find("u8") == k.form.npos && (!most || k.work > most->work)) most = &k;
    return most ? most->work / most->seconds / 1e9 : 1;
  }
  struct Seen {
    double work = 0;
    std::vector<double> seconds;
  };
  const Backend& backend_;
  bool gpu_;
  i64 reserved_;
  std::map<std::tuple<int, std::string, std::vector<i64>>, Seen> seen_;
  std::vector<double> together_;
};

}  // namespace

// What no measurement here tells stays as it was.
static void keep(DeviceFacts& to, const DeviceFacts& before) {
  to.nccl_bytes = before.nccl_bytes, to.nccl_bytes_each = before.nccl_bytes_each;
  to.peak_tflops = before.peak_tflops, to.launch_us = before.launch_us;
  to.overlap_slowdown = before.overlap_slowdown, to.memory_curve = before.memory_curve;
  to.node_gpus = before.node_gpus, to.watts = before.watts, to.node = before.node, to.network = before.network;
  to.pcie_gbps = before.pcie_gbps, to.host_bytes = before.host_bytes;
  to.product_workspaces.insert(before.product_workspaces.begin(), before.product_workspaces.end());
  to.attention_workspaces.insert(before.attention_workspaces.begin(), before.attention_workspaces.end());
}

DeviceFacts calibrate(const Backend& backend, const CalibrateOptions& options) {
  const auto began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  Recorder recorder(backend);
  const bool gpu = backend.host_bytes().has_value();
  if (gpu)
    for (const ModelCase& model : planned_cases()) recorder.plan(model);
  if (gpu) log::say("{} models planned in {:.1f} s", planned_cases().size(), seconds());
  for (const ModelCase& model : timed_cases(gpu)) {
    if (seconds() > options.seconds) {
      log::say("{:.0f} s are over: {} and those behind it are left out", options.seconds, model.name());
      break;
    }
    recorder.time(model);
  }
  DeviceFacts facts = recorder.facts();
  facts.name = options.name;
  if (options.before) keep(facts, *options.before);
  return facts;
}

}  // namespace megalith
