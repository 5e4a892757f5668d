#include "planner/memory_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/mib.h"
#include "base/process_memory.h"
#include "optim/optimizer.h"
#include "optim/update.h"
#include "planner/stage_plans.h"
#include "settings/compatibility.h"
#include "settings/precision.h"
#include "settings/schedules.h"
#include "step/model_size.h"

namespace megalith {

// The memory of the fullest stage.
static MemoryNeed most_needed(const Options& o, const Backend& backend, bool resumes) {
  StagePlans plans(o, backend);
  return fullest_stage(plans, resumes).need;
}

// The divisors of a rank's part of the global batch. The loop finds them in pairs up to the square root, because a
// mistyped batch may be huge.
static std::vector<i64> smaller_micro_batches(const Options& o) {
  const i64 share = o.train.global_batch_size / o.parallel.data_parallel_size();
  std::set<i64> divisors;
  for (i64 b = 1; b * b <= share; ++b)
    if (share % b == 0) divisors.insert({b, share / b});
  return {divisors.begin(), divisors.lower_bound(o.train.micro_batch_size)};
}

// The largest micro-batch below the current one that divides the global batch and fits in `have` bytes. 0 if none
// does.
static i64 largest_that_fits(const Options& options, const MemoryNeed& need, i64 have, const Backend& backend) {
  const std::vector<i64> sizes = smaller_micro_batches(options);
  const auto total = [&](i64 b) {
    Options smaller = options;
    smaller.train.micro_batch_size = b;
    return most_needed(smaller, backend, need.resumes).total();
  };
  if (sizes.empty()) return 0;
  // The need is nearly linear in the micro-batch. Interpolation needs few plans, which matters with many layers.
  i64 fits = 0, fits_bytes = total(1), too_large = options.train.micro_batch_size, too_large_bytes = need.total();
  if (fits_bytes > have) return 0;
  for (fits = 1;;) {
    std::vector<i64> between;
    for (const i64 b : sizes)
      if (b > fits && b < too_large) between.push_back(b);
    if (between.empty()) return fits;
    const double slope = double(too_large_bytes - fits_bytes) / double(too_large - fits);
    const double guess = double(fits) + double(have - fits_bytes) / std::max(slope, 1.0);
    const auto after = std::find_if(between.begin(), between.end(), [&](i64 b) { return double(b) > guess; });
    const i64 b = after == between.begin() ? between.front() : *(after - 1);
    const i64 bytes = total(b);
    if (bytes <= have)
      fits = b, fits_bytes = bytes;
    else
      too_large = b, too_large_bytes = bytes;
  }
}

static std::string memory_of(const Backend& backend) {
  return backend.host_bytes() ? fmt::format("the memory of {}", backend.device_name()) : "memory";
}

// A lower bound of the bytes that one rank holds for each parameter: weight, gradient and optimizer state. The state
// may be divided over `copies` ranks.
static double bytes_each(const Options& o, const Backend& backend, double copies) {
  const double cut = o.parallel.use_distributed_optimizer ? copies : 1;
  const Precision r = precision_of(o);
  i64 state = r.parameters == r.main_parameters ? 0 : size_of(main_type(r.parameters, r.main_parameters, false));
  for (const OptimizerState& s : o.optimizer.chosen().states(r)) state += size_of(s.dtype);
  const bool elsewhere = o.optimizer.optimizer_cpu_offload && backend.host_bytes();  // all of it, in the extreme case
  return double(size_of(r.parameters) + size_of(r.gradients)) + (elsewhere ? 0 : double(state) / cut);
}

// A lower bound of the bytes of weights, gradients and optimizer state on one rank.
static double surely_held(const Options& o, const Backend& backend, const ModelSize& size) {
  const ParallelConfig& p = o.parallel;
  const double stages = double(p.stages());
  const double tensor = double(p.tensor_model_parallel_size);
  const double expert = double(p.expert_model_parallel_size * p.expert_tensor_size());
  const double dense_copies = double(p.data_parallel_size() * p.context_parallel_size);
  const double expert_copies = std::max(1.0, tensor * dense_copies / expert);
  return (size.parameters() - size.experts) * bytes_each(o, backend, dense_copies) / (tensor * stages) +
         size.experts * bytes_each(o, backend, expert_copies) / (expert * stages);
}

// A lower bound, in elements, of what one sequence keeps for the backward: attention's inputs and outputs, or the
// inputs of recomputed chunks of layers, and the logits. Offloaded values are not counted.
static double surely_kept(const Options& o, const ModelSize& size) {
  const RecomputeConfig& r = o.recompute;
  const bool full = r.granularity == RecomputeConfig::Granularity::full;
  const bool uniform = r.method == RecomputeConfig::Method::uniform;
  const double chunks = double(o.model.num_layers) / (uniform ? double(r.num_layers) : 1);
  return size.logits + (o.offload.on ? 0 : full ? chunks * size.looked_up : size.attended);
}

void check_sizes(const Options& o, const Backend& backend) {
  constexpr i64 kMostLayers = 1024;
  check(o.model.num_layers <= kMostLayers, "--num-layers {}: at most {} can be planned", o.model.num_layers,
        kMostLayers);
  const ModelSize size = size_of(*step_spec(o).model);
  const double ranks = double(o.parallel.tensor_model_parallel_size * o.parallel.stages());
  const double state = surely_held(o, backend, size), have = double(backend.available_bytes());
  check(state <= have,
        "weights, gradients and optimizer state need {:.1f} MiB of {}, {:.1f} MiB are available: no micro-batch "
        "size fits: use a smaller model",
        state / (1 << 20), memory_of(backend), have / (1 << 20));
  const double kept = surely_kept(o, size) * double(size_of(precision_of(o).activations)) /
                      (ranks * double(o.parallel.context_parallel_size));
  check(state + kept <= have,
        "one sequence needs {:.1f} MiB of {}, {:.1f} MiB are available: no micro-batch size fits: use a smaller "
        "--seq-length or model",
        (state + kept) / (1 << 20), memory_of(backend), have / (1 << 20));
  constexpr double kCountable = 0x1p56;  // larger counts of bytes are not exact
  check(double(o.train.micro_batch_size) * size.largest < kCountable,
        "--micro-batch-size {} x --seq-length {} is too large to plan: use smaller ones", o.train.micro_batch_size,
        o.model.seq_length);
}

// The same run with one change, and the flags of that change.
struct Neighbour {
  std::string flags;
  Options options;
};

static std::vector<Neighbour> neighbours(const Options& o, const Backend& backend) {
  std::vector<Neighbour> out;
  const auto add = [&](const std::string& flags, const std::function<void(Options&)>& change) {
    Neighbour n{flags, o};
    change(n.options);
    const i64 tp = n.options.parallel.tensor_model_parallel_size;
    ModelConfig& m = n.options.model;
    if (tp != o.parallel.tensor_model_parallel_size)
      m.padded_vocab_size = padded_vocab(m.vocab_size, m.make_vocab_size_divisible_by, tp);
    out.push_back(std::move(n));
  };
  const ParallelConfig& p = o.parallel;
  if (!p.use_distributed_optimizer && p.data_parallel_size() * p.context_parallel_size > 1)
    add("--use-distributed-optimizer", [](Options& n) { n.parallel.use_distributed_optimizer = true; });
  if (p.world_size > 1) {
    const i64 tp = 2 * p.tensor_model_parallel_size, pp = 2 * p.pipeline_model_parallel_size;
    add(fmt::format("--tensor-model-parallel-size {} --sequence-parallel", tp),
        [&](Options& n) { n.parallel.tensor_model_parallel_size = tp, n.parallel.sequence_parallel = true; });
    add(fmt::format("--pipeline-model-parallel-size {}", pp),
        [&](Options& n) { n.parallel.pipeline_model_parallel_size = pp; });
  }
  if (o.recompute.granularity != RecomputeConfig::Granularity::full)
    add("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", [](Options& n) {
      n.recompute = {RecomputeConfig::Granularity::full, RecomputeConfig::Method::uniform, 1, {}};
    });
  if (backend.host_bytes() && !o.offload.on)
    add("--fine-grained-activation-offloading", [](Options& n) { n.offload.on = true; });
  const OptimizerConfig& c = o.optimizer;
  if (backend.host_bytes() && c.chosen().granularity() == Granularity::element && !c.optimizer_cpu_offload)
    add("--optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d",
        [](Options& n) { n.optimizer.optimizer_cpu_offload = n.optimizer.overlap_cpu_optimizer_d2h_h2d = true; });
  return out;
}

// The flags of the neighbours that keep the rules and fit: in `have` bytes, and for a device in `host` bytes of the
// host.
static std::vector<std::string> neighbours_that_fit(const Options& o, const MemoryNeed& need, i64 have, i64 host,
                                                    const Backend& backend) {
  std::vector<std::string> out;
  for (const Neighbour& n : neighbours(o, backend)) {
    try {
      check_compatibility(n.options);
      const MemoryNeed less = most_needed(n.options, backend, need.resumes);
      if (less.total() <= have && (!less.host || less.host_total() <= host)) out.push_back(n.flags);
    } catch (const Error&) {
      continue;  // an impossible layout
    }
  }
  return out;
}

void check_memory(const Options& options, const MemoryNeed& need, const Backend& backend, const Place& place) {
  const i64 have = backend.available_bytes() / (backend.host_bytes() ? 1 : place.local_size);
  if (need.total() <= have) return;
  const i64 b = largest_that_fits(options, need, have, backend);
  std::vector<std::string> fitting =
      neighbours_that_fit(options, need, have, available_host_bytes() / place.local_size, backend);
  if (b > 0) fitting.insert(fitting.begin(), fmt::format("--micro-batch-size {}", b));
  std::string advice = b > 0 ? "" : "no micro-batch size fits: ";
  if (fitting.empty())
    advice += "use a smaller model or --seq-length, or --bf16";
  else
    advice += fmt::format("{} fits", fmt::join(fitting, ", or "));
  fail("the plan needs {:.1f} MiB of {}, {:.1f} MiB are available: {}", mib(need.total()), memory_of(backend),
       mib(have), advice);
}

void check_host_memory(const MemoryNeed& need, i64 available) {
  check(!need.host || need.host_total() <= available,
        "the run also needs {:.1f} MiB of the host's memory, {:.1f} MiB are available: free some, or use "
        "a smaller {}",
        mib(need.host_total()), mib(available),
        need.host_state > 0 ? "--optimizer-offload-fraction or --activation-offload-fraction" : "model");
}

}  // namespace megalith
