#include "calibrate/calibrate.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>

#include "base/log.h"
#include "calibrate/link_trial.h"
#include "calibrate/long_attention.h"
#include "calibrate/timed_step.h"
#include "exec/sim/facts_clock.h"
#include "exec/sim/kernel_kind.h"
#include "facts/tells_facts.h"
#include "ops/grouped_product.h"

namespace megalith {

namespace {

using sim::KernelKind;
using Clock = std::chrono::steady_clock;

constexpr int kTurns = 7;  // of a CPU's instructions and steps

std::string today() {
  const std::time_t t = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&t));
  return text;
}

class Recorder {
 public:
  // Kernels are loaded onto the device at their first use. At planning time a run does not have this memory in use
  // yet.
  Recorder(const Backend& backend, Ranks& ranks)
      : backend_(backend),
        ranks_(ranks),
        gpu_(backend.host_bytes().has_value()),
        reserved_(gpu_ ? backend.fixed_bytes() : 0) {}

  void time(const TimedCase& model, double warm = 1.0, double measured = 0.4) {
    TimedStep timed(model, backend_);
    ranks_.barrier();
    StepTimes t = gpu_ ? timed.measure(warm, measured) : timed.measure_in_turns(kTurns);
    t.step = largest_of(ranks_, t.step);
    const Program& p = timed.program();
    for (size_t i = 0; i < p.instructions.size(); ++i) {
      const KernelKind kind = sim::kind_of(timed.plan(), p, p.instructions[i]);
      if (!(kind.work > 0) || !(t.each[i] > 0)) continue;
      Seen& seen = seen_[{int(kind.table), kind.form, kind.sizes}];
      seen.work = kind.work, seen.seconds.push_back(t.each[i]);
      if (sim::is_of_experts(p.instructions[i].op)) seen.moved = kind.moved - kind.reads_sums;
    }
    Steps& steps = model.spec.quantize.config.on() ? of_codes_ : of_values_;
    steps.push_back(t.step / t.all());
    if (!first_together_) first_together_ = steps.back();
    log::say("{}: {} instructions, {:.3f} ms one by one, {:.3f} ms together", model.name, p.instructions.size(),
             t.all() * 1e3, t.step * 1e3);
  }

  // `together` of the first step that was timed.
  double first_together() const { return first_together_.value(); }

  // A plan asks libraries for their workspaces, and the backend records them.
  void plan(const ModelCase& model) { plan_step(model.spec(), backend_); }

  DeviceFacts facts() const {
    DeviceFacts f;
    for (const auto& [key, seen] : seen_) {
      const auto& [table, form, sizes] = key;
      auto& to = table == int(KernelKind::Table::product)     ? f.products
                 : table == int(KernelKind::Table::attention) ? f.attention
                                                              : f.kernels;
      to.push_back({form, sizes, seen.work, median(seen.seconds), seen.moved});
    }
    f.together = together();
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
  using Steps = std::vector<double>;  // seconds of a step over those of its instructions

  // Steps in fp8 do not count, so the steps of other plans are predicted as without them.
  double together() const {
    const Steps& steps = of_values_.empty() ? of_codes_ : of_values_;
    return steps.empty() ? 1 : median(steps);
  }

  struct Seen {
    double work = 0, moved = 0;
    std::vector<double> seconds;
  };
  const Backend& backend_;
  Ranks& ranks_;
  bool gpu_;
  i64 reserved_;
  std::map<std::tuple<int, std::string, std::vector<i64>>, Seen> seen_;
  Steps of_values_, of_codes_;  // of_codes: in fp8
  std::optional<double> first_together_;
};

}  // namespace

bool has_products_of_codes(const Backend& backend) {
  constexpr int kHopper = 90;
  DeviceFacts facts;
  if (const auto* device = dynamic_cast<const TellsFacts*>(&backend)) device->tell(facts);
  return facts.capability >= kHopper;
}

double rate_of_largest(const std::vector<KernelFact>& kernels) {
  const KernelFact* most = nullptr;
  const auto has = [](const KernelFact& k, const char* type) { return k.form.find(type) != k.form.npos; };
  for (const KernelFact& k : kernels)  // kernels with row marks move fewer bytes than they count; casts also compute
    if (!has(k, "u8") && !has(k, "f8_") && (!most || k.work > most->work)) most = &k;
  return most ? most->work / most->seconds / 1e9 : 1;
}

// Facts that were not measured now stay unchanged.
static void keep(DeviceFacts& to, const DeviceFacts& before) {
  to.nccl_bytes = before.nccl_bytes, to.nccl_bytes_each = before.nccl_bytes_each;
  to.peak_tflops = before.peak_tflops, to.launch_us = before.launch_us;
  to.overlap_slowdown = before.overlap_slowdown, to.memory_curve = before.memory_curve;
  to.node_gpus = before.node_gpus, to.watts = before.watts, to.node = before.node, to.network = before.network;
  to.pcie_gbps = before.pcie_gbps, to.host_bytes = before.host_bytes;
  to.transfers = before.transfers, to.beside = before.beside;
  to.product_workspaces.insert(before.product_workspaces.begin(), before.product_workspaces.end());
  to.attention_workspaces.insert(before.attention_workspaces.begin(), before.attention_workspaces.end());
}

// The time of a step over the sum of its kernels' times by the facts. It includes the present clocks, memory and
// power of these devices.
static double together_by(const DeviceFacts& facts, const Backend& backend, Ranks& ranks) {
  const bool gpu = backend.host_bytes().has_value();
  const ModelCase model = timed_cases(gpu, false).front();
  TimedStep step_of_model(timed(model), backend);
  const sim::FactsClock clock(facts);
  double sum = 0;
  for (const Instruction& in : step_of_model.program().instructions)
    sum += clock.seconds(step_of_model.plan(), step_of_model.program(), in).total();
  ranks.barrier();
  const double mine = (gpu ? step_of_model.measure(3, 2) : step_of_model.measure_in_turns(kTurns)).step;
  const double step = largest_of(ranks, mine);
  log::say("{}: {:.3f} ms by the kernels' facts, {:.3f} ms on the slowest rank, {:.3f} ms here", model.name(),
           sum * 1e3, step * 1e3, mine * 1e3);
  return step / sum;
}

static DeviceFacts time_models(const Backend& backend, Ranks& ranks, const CalibrateOptions& options) {
  const auto began = Clock::now();
  const auto seconds = [&] { return largest_of(ranks, std::chrono::duration<double>(Clock::now() - began).count()); };
  Recorder recorder(backend, ranks);
  const bool gpu = backend.host_bytes().has_value();
  const bool codes = has_products_of_codes(backend);
  if (gpu) {
    const std::vector<ModelCase> planned = planned_cases(codes);
    for (const ModelCase& model : planned) recorder.plan(model);
    log::say("{} models planned in {:.1f} s", planned.size(), seconds());
  }
  std::vector<ModelCase> models = timed_cases(gpu, codes);
  for (const ModelCase& model : mixture_cases(gpu)) models.insert(models.begin() + 2, model);
  for (const ModelCase& model : models) {
    if (seconds() > options.seconds) {
      log::say("{:.0f} s are over: {} and those behind it are left out", options.seconds, model.name());
      break;
    }
    recorder.time(timed(model));
  }
  return recorder.facts();
}

// replaces: also replaces kernels of the same form and sizes.
static void add_kernels(DeviceFacts& to, const DeviceFacts& from, bool replaces) {
  for (const auto kernels : {&DeviceFacts::products, &DeviceFacts::attention, &DeviceFacts::kernels})
    for (const KernelFact& f : from.*kernels) {
      std::vector<KernelFact>& known = to.*kernels;
      const auto same =
          std::ranges::find_if(known, [&](const KernelFact& k) { return k.form == f.form && k.sizes == f.sizes; });
      if (same == known.end())
        known.push_back(f);
      else if (replaces)
        *same = f;
    }
}

void add_mixtures(DeviceFacts& facts, const Backend& backend, Ranks& ranks) {
  const auto grouped = [](const KernelFact& f) { return f.form.starts_with(GroupedProduct::name); };
  if (std::ranges::any_of(facts.products, grouped)) return;
  Recorder recorder(backend, ranks);
  for (const ModelCase& model : mixture_cases(backend.host_bytes().has_value())) recorder.time(timed(model));
  add_kernels(facts, recorder.facts(), false);
}

// The old facts, with new measurements of whole steps and of long attention.
static DeviceFacts kept_facts(const Backend& backend, Ranks& ranks, const CalibrateOptions& options) {
  check(options.before.has_value(), "--keep-kernels: no file has kernels of {}: leave it out", options.name);
  DeviceFacts facts = *options.before;
  const DeviceFacts before = facts;
  for (KernelFact& f : time_long_attention(backend)) {
    std::erase_if(facts.attention, [&](const KernelFact& k) { return k.form == f.form && k.sizes == f.sizes; });
    facts.attention.push_back(std::move(f));
  }
  add_mixtures(facts, backend, ranks);
  facts.together = together_by(before, backend, ranks);
  facts.recorded += fmt::format("; together of {} ranks at once, {}", ranks.size(), today());
  return facts;
}

// The old facts, if there are any, with the kernels of the user's model.
static DeviceFacts model_facts(const Backend& backend, Ranks& ranks, const CalibrateOptions& options) {
  Recorder recorder(backend, ranks);
  for (const TimedCase& model : options.model) recorder.time(model, 3.0, 2.0);
  const DeviceFacts of_model = recorder.facts();
  DeviceFacts facts = options.before.value_or(of_model);
  add_kernels(facts, of_model, true);
  for (const auto& [problem, bytes] : of_model.product_workspaces) facts.product_workspaces[problem] = bytes;
  for (const auto& [problem, bytes] : of_model.attention_workspaces) facts.attention_workspaces[problem] = bytes;
  facts.together = recorder.first_together();
  if (options.before) facts.recorded += fmt::format("; {} measured {}", options.model[0].name, today());
  return facts;
}

DeviceFacts calibrate(const Backend& backend, Ranks& ranks, const CalibrateOptions& options) {
  const bool has_model = !options.model.empty(), keeps = has_model || options.keep_kernels;
  DeviceFacts facts = has_model              ? model_facts(backend, ranks, options)
                      : options.keep_kernels ? kept_facts(backend, ranks, options)
                                             : time_models(backend, ranks, options);
  facts.name = options.name;
  if (options.before && !keeps) keep(facts, *options.before);
  if (ranks.size() == 1) return facts;
  const auto began = Clock::now();
  const LinkTrialSizes sizes = link_trial_sizes(backend.host_bytes().has_value());
  facts.transfers = time_transfers(backend, ranks, sizes);
  facts.beside = time_beside(backend, ranks, sizes);
  facts.recorded += fmt::format("; transfers of {} ranks measured {}", ranks.size(), today());
  log::say("transfers took {:.1f} s", std::chrono::duration<double>(Clock::now() - began).count());
  return facts;
}

}  // namespace megalith
