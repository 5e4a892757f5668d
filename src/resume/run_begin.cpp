#include "resume/run_begin.h"

#include <exception>
#include <filesystem>

#include "base/canonical_path.h"
#include "base/clock.h"
#include "base/log.h"
#include "ckpt/native/checkpoint_layout.h"
#include "comm/on_all_ranks.h"
#include "resume/agreed_snapshot.h"
#include "resume/agreed_start.h"
#include "resume/snapshots.h"

namespace megalith {

namespace {

RunStart opened(const Options& options, Ranks& ranks, const StartChoice& choice) {
  std::optional<RunStart> start;
  on_all_ranks(ranks, [&] {
    start.emplace(options, choice);
    start->check_accepted();
  });
  return std::move(*start);
}

// The message of the first rank that found damage; empty if no rank did.
std::string damage(Ranks& ranks, const RunStart& start, ModelState& model) {
  std::string found;
  on_all_ranks(ranks, [&] {
    try {
      start.fill(model, snapshot_threads(ranks.place()));
    } catch (const DamagedCheckpoint& e) {
      found = e.what();
    }
  });
  for (const std::string& text : ranks.all_gather(found))
    if (!text.empty()) return text;
  return {};
}

void say_read(double began) { log::say("  this rank read its state in {:.3f} s", steady_seconds() - began); }

}  // namespace

RunStart choose_start(const Options& options, Ranks& ranks, const Damaged& damaged, ComparedSnapshots* ahead) {
  std::optional<RunStart> start;
  std::exception_ptr error;  // on all ranks or on none; ignored if there is a snapshot or a non-persistent checkpoint
  std::string what;
  try {
    start = agreed_start(options, ranks, damaged.checkpoint ? std::optional(*damaged.checkpoint - 1) : std::nullopt);
  } catch (const Error& e) {
    error = std::current_exception(), what = e.what();
  }
  const i64 iteration = start ? start->iteration().value_or(-1) : -1;
  const auto non_persistent = newer_non_persistent(options, ranks, iteration, damaged.non_persistent);
  const bool goes_on =
      canonical_path(options.train.load) == canonical_path(options.train.save) && !options.train.finetune;
  const i64 on_disk = !goes_on ? -1 : non_persistent ? non_persistent->iteration : iteration;
  if (auto snapshot = agreed_snapshot(options, ranks, on_disk, ahead)) {
    log::say("  resumes from the snapshot of iteration {} in the agents' memory", snapshot->manifest.iteration);
    return opened(options, ranks, {.snapshot = std::make_shared<AnyCheckpoint>(std::move(*snapshot))});
  }
  if (!non_persistent && error) std::rethrow_exception(error);
  if (!non_persistent) {
    on_all_ranks(ranks, [&] { start->check_accepted(); });
    if (const std::string& load = options.train.load; !load.empty() && start->place().empty()) {
      if (!std::filesystem::exists(load)) log::warn("--load {}: the directory does not exist yet", load);
      log::say("  no checkpoint in {}: starting from random weights", load);
    }
    return std::move(*start);
  }
  if (error) log::warn("{}; loading the non-persistent checkpoint", what);
  return opened(options, ranks, {.non_persistent = non_persistent});
}

bool fill_ahead(Ranks& ranks, const RunStart& start, ModelState& model) {
  if (!start.snapshot()) return false;
  const double began = steady_seconds();
  if (!damage(ranks, start, model).empty()) return false;
  say_read(began);
  return true;
}

RunStart fill_model(const Options& options, Ranks& ranks, RunStart start, ModelState& model, bool is_filled) {
  const double began = steady_seconds();
  for (Damaged known; !is_filled;) {
    const std::string problem = damage(ranks, start, model);
    if (problem.empty()) break;
    const TrainConfig& t = options.train;
    const bool is_non_persistent = start.is_non_persistent();
    check(is_non_persistent || t.ckpt_step == 0,
          "[load] {}; leave out --ckpt-step to load the newest complete checkpoint", problem);
    log::warn("[load] {}; looking for an older one", problem);
    model.forget_moments();  // some are read already, and the next attempt may find no checkpoint
    (is_non_persistent ? known.non_persistent : known.checkpoint) = start.iteration();
    start = choose_start(options, ranks, known);
    check(is_non_persistent || start.iteration() != known.checkpoint, "[load] {}, and --load names this one checkpoint",
          problem);
  }
  on_all_ranks(ranks, [&] {
    if (start.iteration()) model.finish();
  });
  start.say_filled();
  start.let_go();
  if (start.iteration() && !is_filled) say_read(began);
  return start;
}

}  // namespace megalith
