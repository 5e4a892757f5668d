#include "cli/auto_layout.h"

#include <fmt/ranges.h>

#include <sstream>

#include "base/log.h"
#include "base/mistakes.h"
#include "comm/on_all_ranks.h"
#include "complete/complete_options.h"
#include "exec/sim/paper_backend.h"
#include "facts/facts_file.h"
#include "search/search.h"

namespace megalith {

namespace {

// The facts for ranks on CPUs. The rates are constants of a typical core, so every run chooses the same layout.
DeviceFacts cpu_facts(const Backend& backend, const Place& place) {
  DeviceFacts f = find_facts("h100");  // its limits of kernels
  f.name = "this machine's CPU", f.device = backend.device_name(), f.measured = false;
  f.memory_bytes = backend.available_bytes() / place.local_size, f.reserved_bytes = 64 << 20;
  f.nccl_bytes = f.nccl_bytes_each = 0;
  f.peak_tflops = {{"bf16", 0.1}, {"f32", 0.1}, {"f16", 0.1}}, f.hbm_gbps = 10, f.launch_us = 1;
  f.together = f.overlap_slowdown = 1, f.memory_curve.clear();
  f.products.clear(), f.attention.clear(), f.kernels.clear();
  f.product_workspaces.clear(), f.attention_workspaces.clear();
  f.node_gpus = place.local_size;
  f.node = {.gbps = 4, .latency_us = 20, .hop_us = 10, .busbw = {}};
  f.network = {.gbps = 1, .latency_us = 50, .hop_us = 20, .busbw = {}};
  return f;
}

bool is_cpu(const Backend& backend) {
  return !dynamic_cast<const sim::PaperBackend*>(&backend) && !backend.host_bytes();
}

DeviceFacts facts_here(const Backend& backend, const Place& place) {
  if (is_cpu(backend)) return cpu_facts(backend, place);
  if (const auto* paper = dynamic_cast<const sim::PaperBackend*>(&backend)) return paper->facts();
  const std::optional<DeviceFacts> facts = facts_of_device(backend.device_name());
  check(bool(facts),
        "--layout auto: the program has no facts of {}: give the layout's flags, or plan with --hardware FILE",
        backend.device_name());
  return *facts;
}

// The options in the form of `megalith plan`.
Options for_search(Options o) {
  check(o.trains.value_or(Architecture::gpt) == Architecture::gpt,
        "--layout auto is built for a GPT only: give the layout's flags");
  complete_model(o, read_sources(o));
  refuse_wrong(o);
  check(o.train.global_batch_size > 0,
        "--layout auto needs --global-batch-size: layouts are compared by the same batch");
  if (o.train.train_iters == 0 && o.train.train_samples == 0) o.train.train_iters = 1;
  if (o.optimizer.lr == 0) o.optimizer.lr = 1, o.optimizer.min_lr = 0;
  o.train.dry_run = true;
  return o;
}

std::string search_here(const Options& options, const Backend& backend, const Place& place) {
  const DeviceFacts facts = facts_here(backend, place);
  const Options base = for_search(options);
  search::Searcher searcher(base, facts);
  const search::Outcome found = searcher.run({.gpus = base.parallel.world_size, .top = 1});
  if (!found.mistakes.empty()) throw Mistakes(found.mistakes);
  if (found.best.empty() && !found.misses.empty())
    fail("--layout auto: no layout fits {} x {}: the nearest, {}, needs {:.1f} GiB of {:.1f}", base.parallel.world_size,
         facts.name, to_string(found.misses[0].choice), found.misses[0].bytes / (1 << 30),
         double(facts.memory_bytes) / (1 << 30));
  check(!found.best.empty(), "--layout auto: the rules allow no layout of {} ranks: `megalith plan` prints the reasons",
        base.parallel.world_size);
  const search::Found& best = found.best[0];
  const std::string flags = fmt::format("{}", fmt::join(flags_of(base, best.choice), " "));
  // The rates of a typical core order layouts, but they are no figures of this machine.
  const std::string price = is_cpu(backend) ? "by the rates of a typical CPU"
                                            : fmt::format("{:.1f} MiB and {:.4g} s a step from the facts of {}",
                                                          double(best.price.fullest.need.total()) / (1 << 20),
                                                          best.price.time.seconds, facts.name);
  log::say("--layout auto chose {} of {} layouts: {}\n  {}", to_string(best.choice), found.layouts, price, flags);
  return flags;
}

}  // namespace

std::vector<std::string> chosen_layout(const Options& options, const Backend& backend, Ranks& ranks) {
  std::string mine;
  on_all_ranks(ranks, [&] {
    if (ranks.rank() == 0) mine = search_here(options, backend, ranks.place());
  });
  std::istringstream in(ranks.all_gather(mine)[0]);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace megalith
