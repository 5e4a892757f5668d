#include "planner/plan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/mib.h"
#include "base/process_memory.h"
#include "optim/optimizer.h"
#include "planner/communication.h"
#include "planner/offload_report.h"
#include "settings/batch_sizes.h"
#include "settings/compatibility.h"
#include "settings/schedules.h"
#include "step/flops.h"

namespace megalith {

static std::string row(std::string_view what, i64 bytes) {
  return fmt::format("  {:<28} {:>16} bytes  {:>10.1f} MiB\n", what, bytes, mib(bytes));
}

// Flops of one run of a program: of everything, and of what is done again.
struct Flops {
  double all = 0, again = 0;
};
static Flops flops_of(const Plan& plan, const Program& p) {
  Flops f;
  for (const Instruction& in : p.instructions) {
    const double flops = cost_of(plan, p, in).flops;
    f.all += flops, f.again += in.origin.recomputed ? flops : 0;
  }
  return f;
}

static std::string recompute_line(const Options& o, const PlannedStep& step) {
  const Program& program = step.plan.program("micro-batch");
  const Flops each = flops_of(step.plan, program), last = flops_of(step.plan, step.plan.program("last-micro-batch"));
  const double before = double(micro_batches(o) - 1);
  const double again = before * each.again + last.again, rest = before * each.all + last.all - again;
  const i64 left = step.unoffloaded_bytes ? step.unoffloaded_bytes : program.activation_bytes;
  return fmt::format("  recompute: saves {:.1f} MiB of activations for {:.4g} extra GFLOP a step, {:.1f}%\n",
                     mib(step.unrecomputed_bytes - left), again / 1e9, 100 * again / rest);
}

// What the forward need not keep as the backward makes it again on the way.
static std::string remake_line(const Plan& plan) {
  i64 bytes = 0;
  const auto training = std::find_if(plan.programs.begin(), plan.programs.end(),
                                     [](const Program& p) { return p.name == "micro-batch"; });
  if (training == plan.programs.end()) return {};
  const Program& p = *training;
  for (const Instruction& in : p.instructions)
    if (const int y = made_again(in.op); y >= 0) bytes += p.buffers[in.outs[size_t(y)]].bytes;
  if (bytes == 0) return {};
  return fmt::format("  made again in gradients: {:.1f} MiB of activations that need not be kept\n", mib(bytes));
}

std::string plan_report(const Options& o, const PlannedStep& step, const MemoryNeed& need) {
  i64 parameters = 0, padding = 0;
  for (const Parameter& p : step.parameters) {
    parameters += count(p.true_shape());
    padding += p.type.elements() - count(p.true_shape());
  }
  std::string out = "------------------------ plan ------------------------\n";
  out += fmt::format("  parameters                   {:>16}   (+ {} of vocabulary padding)\n", parameters, padding);
  for (const Program& p : step.plan.programs)
    out += fmt::format("  {:<28} {:>16} instructions\n", "program " + p.name, p.instructions.size());
  out +=
      fmt::format("  model flops per iteration    {:>16.4g}\n", flops_per_iteration(o.model, BatchSizes(o).largest()));
  out += memory_table(step.plan);
  out += offload_line(step.plan) + activation_offload_lines(o.offload, step);
  out += remake_line(step.plan);
  if (step.unrecomputed_bytes > 0) out += recompute_line(o, step);
  for (const Sent& sent : sent_a_step(step, micro_batches(o)))
    out += row(fmt::format("sent a step over {}", sent.axes), i64(sent.bytes));
  if (!need.host) out += row("batches", need.batches);
  if (!need.host && need.start > 0) out += row("start", need.start);
  if (!need.host && need.data > 0) out += row("pages of the data", need.data);
  if (!need.host && need.others > 0) out += row("evaluation and saving", need.others);
  if (!need.host && need.copies > 0) out += row("copies for --async-save", need.copies);
  if (need.device_copies > 0) out += row("copies for --async-save", need.device_copies);
  if (!need.host && need.saving > 0) out += row("saving", need.saving);
  out += row(need.host ? "context and libraries" : "process and libraries", need.process);
  out += row("total", need.total());
  if (need.host && need.copies > 0) out += row("copies for --async-save, host", need.copies);
  if (need.host) out += row("beside it, of the host's", need.host_total());
  return out + "------------------------------------------------------";
}

StagesReport stages_report(const Options& o, const Backend& backend, bool resumes) {
  const int stages = int(o.parallel.pipeline_model_parallel_size);
  if (stages == 1) return {};
  StagesReport report;
  std::string& out = report.text;
  for (int stage = 0; stage < stages; ++stage) {
    const StepSpec spec = step_spec(o, stage);
    const PlannedStep step = plan_step(spec, backend);
    report.most_bytes = std::max(report.most_bytes, memory_need(o, step, backend, resumes).total());
    std::string layers;
    int in_flight = 0;
    for (const StagePiece& piece : step.pipeline->pieces) {
      layers += (layers.empty() ? "" : ", ") + spec.model->describe(piece);
      in_flight = std::max(in_flight, piece.slots);
    }
    out += fmt::format("stage {}: {}; {} micro-batches in flight; arena {:.1f} MiB, kept activations {:.1f} MiB\n",
                       stage, layers, in_flight, mib(step.plan.arena_bytes), mib(step.plan.bytes(Role::kept)));
  }
  const ScheduleSpec s = step_spec(o, 0).pipeline.schedule;
  if (!s.split_weights)
    out += fmt::format(
        "bubble: {:.1f}% of the work's time, (stages - 1) / (micro-batches x pieces), if stages are alike\n",
        100.0 * (s.stages - 1) / (double(s.micro_batches) * s.chunks));
  out.pop_back();
  return report;
}

// Those that divide a rank's share of the global batch. They are found in pairs up to its root: it may be a huge number
// that somebody mistyped.
static std::vector<i64> smaller_micro_batches(const Options& o) {
  const i64 share = o.train.global_batch_size / o.parallel.data_parallel_size();
  std::set<i64> divisors;
  for (i64 b = 1; b * b <= share; ++b)
    if (share % b == 0) divisors.insert({b, share / b});
  return {divisors.begin(), divisors.lower_bound(o.train.micro_batch_size)};
}

// The largest micro-batch below the given one that divides the global batch and fits in `have` bytes; 0 if none does.
static i64 largest_that_fits(const Options& options, const MemoryNeed& need, i64 have, const Backend& backend) {
  const std::vector<i64> sizes = smaller_micro_batches(options);
  const auto total = [&](i64 b) {
    Options smaller = options;
    smaller.train.micro_batch_size = b;
    return memory_need(smaller, plan_step(step_spec(smaller), backend), backend, need.resumes).total();
  };
  if (sizes.empty()) return 0;
  // The need grows nearly in a line with the micro-batch: guessing along it takes few plans, which matters with many
  // layers.
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

void check_sizes(const Options& o, const Backend& backend) {
  const ModelConfig& m = o.model;
  const double h = double(m.hidden_size), layers = double(m.num_layers), heads = double(m.num_attention_heads);
  const double attention = 2 * h * double(m.kv_channels) * (heads + double(m.groups()));
  const double mlp = h * double(m.ffn_hidden_size) * (m.gated() ? 3 : 2);
  const double tables = h * double(m.padded_vocab_size) * (m.untie_embeddings_and_output_weights ? 2 : 1);
  // What one rank surely holds: of each parameter weight and gradient, and optimizer state, which may be cut over more.
  const ParallelConfig& p = o.parallel;
  const double cut = p.use_distributed_optimizer ? double(p.data_parallel_size() * p.context_parallel_size) : 1;
  const double states = 4 * double(o.optimizer.chosen().states().size());
  const bool elsewhere = o.optimizer.optimizer_cpu_offload && backend.host_bytes();  // all of it, perhaps
  const double state_each = elsewhere ? 0 : (o.train.bf16 ? 4 + states : states) / cut;
  const double each = (o.train.bf16 ? 6 : 8) + state_each;
  const double ranks = double(p.tensor_model_parallel_size * p.pipeline_model_parallel_size);
  const double state = (layers * (attention + mlp) + tables) * each / ranks, have = double(backend.available_bytes());
  check(state <= have,
        "weights, gradients and optimizer state alone need {:.1f} MiB of {}, {:.1f} MiB are available: no micro-batch "
        "size fits: use a smaller model",
        state / (1 << 20), memory_of(backend), have / (1 << 20));
  // What one sequence surely keeps for the backward pass: four widths a layer, or that of a chunk of layers done again,
  // and the logits. What goes to the host is not counted.
  const RecomputeConfig& r = o.recompute;
  const bool full = r.granularity == RecomputeConfig::Granularity::full;
  const bool uniform = r.method == RecomputeConfig::Method::uniform;
  const double widths = o.offload.on ? 0 : !full ? 4 * layers : uniform ? layers / double(r.num_layers) : layers;
  const double split = ranks * double(p.context_parallel_size);
  const double kept =
      (widths * h + double(m.padded_vocab_size)) * (o.train.bf16 ? 2 : 4) * double(m.seq_length) / split;
  check(state + kept <= have,
        "one sequence needs {:.1f} MiB of {}, {:.1f} MiB are available: no micro-batch size fits: use a smaller "
        "--seq-length or model",
        (state + kept) / (1 << 20), memory_of(backend), have / (1 << 20));
  const double tokens = double(o.train.micro_batch_size) * double(m.seq_length);
  const double widest = h + double(m.ffn_hidden_size) + double(m.padded_vocab_size);
  constexpr double kCountable = 0x1p56;  // beyond it bytes are not counted reliably
  check(tokens * widest < kCountable, "--micro-batch-size {} x --seq-length {} is too large to plan: use smaller ones",
        o.train.micro_batch_size, m.seq_length);
  constexpr i64 kMostLayers = 1024;
  check(m.num_layers <= kMostLayers, "--num-layers {}: at most {} can be planned", m.num_layers, kMostLayers);
}

// The same run with one thing changed, and the flags that change it.
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

// Flags of the neighbours that keep the rules and fit in `have` bytes, and of a device in `host` bytes of the host's.
static std::vector<std::string> neighbours_that_fit(const Options& o, const MemoryNeed& need, i64 have, i64 host,
                                                    const Backend& backend) {
  std::vector<std::string> out;
  for (const Neighbour& n : neighbours(o, backend)) {
    try {
      check_compatibility(n.options);
      const PlannedStep step = plan_step(step_spec(n.options), backend);
      const MemoryNeed less = memory_need(n.options, step, backend, need.resumes);
      if (less.total() <= have && (!less.host || less.host_total() <= host)) out.push_back(n.flags);
    } catch (const Error&) {
      continue;  // a layout that cannot be
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
  check(
      !need.host || need.host_total() <= available,
      "beside the device's memory the run needs {:.1f} MiB of the host's, {:.1f} MiB are available: free some, or use "
      "a smaller {}",
      mib(need.host_total()), mib(available),
      need.host_state > 0 ? "--optimizer-offload-fraction or --activation-offload-fraction" : "model");
}

}  // namespace megalith
