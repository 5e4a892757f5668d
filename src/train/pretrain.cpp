#include "train/pretrain.h"

#include "base/clock.h"
#include "base/log.h"
#include "comm/on_all_ranks.h"
#include "inject/faults.h"
#include "inject/storm.h"
#include "observe/endpoint.h"
#include "observe/peak_flops.h"
#include "observe/run_head.h"
#include "train/agreed.h"
#include "train/left_out.h"
#include "train/one_memory.h"
#include "train/open_run.h"
#include "train/start_age.h"
#include "train/training_run.h"

namespace megalith {

// Runs while other ranks train, until this rank takes over from one of them. The endpoint's port and the save
// directory stay theirs meanwhile.
static PreparedRun stand_by(const Options& o, const Backend& backend, Ranks& ranks, StartAhead& ahead) {
  PreparedRun prepared = prepare_run(o, backend, ranks);
  say_age(o, prepared.holds_state ? "this rank is on standby, with memory for the state" : "this rank is on standby");
  ahead.take_over();
  ahead.began = steady_seconds();
  say_age(o, "this rank takes over", ahead.began);
  return prepared;
}

int pretrain(Options options, const Backend& backend, Ranks& ranks, StartAhead ahead) {
  if (ranks.size() > 1)
    check_agreement(ranks, {{"the program", program_identity()}, agreed_flags(options), agreed_kernels(backend)});
  const TrainConfig& t = options.train;
  say_age(options, "the device is open");
  check(t.spike_threshold >= 0, "--spike-threshold {} must not be negative (0: no spike is reported)",
        t.spike_threshold);
  on_all_ranks(ranks, [&] { check_faults(t.inject, t.inject_allowed, ranks.size(), backend.name() == "cpu"); });
  options.data.left_out = samples_left_out(options, ranks);
  PreparedRun prepared;
  if (ahead.take_over) prepared = stand_by(options, backend, ranks, ahead);
  const Storm storm(t.inject, ranks.rank(), ranks.size(), ahead.number);
  strike_in_phase(t.inject, ranks.rank(), "init");
  say_notes(options);
  warn_of_one_memory(options, backend);
  std::unique_ptr<Endpoint> endpoint;  // first, so that a port in use is an error before planning
  if (!options.train.dry_run) on_all_ranks(ranks, [&] { endpoint = open_endpoint(options, ranks.place()); });
  Opened run = open_run(options, backend, ranks, ahead, std::move(prepared));
  if (options.train.dry_run) return 0;
  if (ranks.size() > 1) check_agreement(ranks, {agreed_plans(run.step->plan)}, stage_of(options, ranks));
  if (options.train.log_throughput) log::say("{}", throughput_line(options, backend));
  if (options.train.profile && backend.name() == "cpu") log::warn("--profile has no effect on the CPU");
  return TrainingRun(options, backend, ranks, std::move(run), endpoint.get()).train();
}

}  // namespace megalith
