#include "train/open_run.h"

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "base/process_memory.h"
#include "comm/on_all_ranks.h"
#include "data/data_paths.h"
#include "planner/memory_check.h"
#include "resume/run_begin.h"
#include "settings/batch_sizes.h"
#include "settings/schedules.h"
#include "step/pipeline.h"
#include "train/open_data.h"
#include "train/plan_alike.h"
#include "train/say_plan.h"
#include "train/start_age.h"

namespace megalith {

Coord coord_of(const Plan& plan, const Ranks& ranks) {
  return plan.mesh.num_ranks() > 1 ? plan.mesh.coord(ranks.rank()) : Coord{};
}

int stage_of(const Options& o, const Ranks& ranks) {
  if (o.train.dry_run) return 0;
  const Mesh mesh = mesh_of(o.parallel, o.model);
  return mesh.place(mesh.coord(ranks.rank()), groups::pipeline);
}

// Warns, or adjusts the sets, if there is less validation data than the flags ask for.
static void settle_validation(const Options& o, Datasets& sets) {
  const auto drop_empty = [](std::shared_ptr<const Dataset>& set) {
    if (!set || set->size() > 0) return;
    log::say("> a validation set has too few tokens for a sample: the run continues without it");
    set = nullptr;
  };
  drop_empty(sets.valid);
  std::ranges::for_each(sets.valid_sets, drop_empty);
  const TrainConfig& t = o.train;
  const bool any = sets.valid || std::ranges::any_of(sets.valid_sets, [](const auto& set) { return bool(set); });
  check(!t.skip_train || any || sets.test,
        "--skip-train: there is nothing to evaluate on: give --split, --valid-data-path or --test-data-path");
  if (o.given.has("eval-interval") && t.evaluates() && t.eval_interval > 0 && !any)
    log::warn("--eval-interval has no effect: there is no validation data (--split, --valid-data-path)");
  const i64 asked = t.eval_iters * t.eval_batch();
  if (sets.valid && !t.full_validation && sets.valid->size() < asked)
    log::warn("the validation set has {} samples, fewer than the {} of --eval-iters {}: each evaluation reads all",
              sets.valid->size(), asked, t.eval_iters);
}

static Datasets open_data(const Options& o, const SampleCounts& counts) {
  Datasets sets = open_datasets(o, counts);
  log::say("> finished creating {} datasets ...", name_of(o.model.architecture));
  check(o.train.skip_train || sets.train, "there is nothing to train on: --split gives the training set no documents");
  settle_validation(o, sets);
  return sets;
}

Datasets open_data(const Options& o, Ranks& ranks, const SampleCounts& counts) {
  Datasets datasets;
  first_of_host_first(ranks, [&] { datasets = open_data(o, counts); });  // it writes the index
  return datasets;
}

static void check_sizes_to_come(const BatchSizes& sizes, i64 consumed) {
  for (const i64 size : sizes.from(consumed))
    check(size > 0 && size % sizes.at_once() == 0,
          "the global batch of {} after {} samples is not divisible by the {} sequences of all ranks in a "
          "micro-batch: change the batch sizes, --micro-batch-size or the number of ranks",
          size, consumed, sizes.at_once());
}

void connect_ranks(const PlannedStep& step, const Backend& backend, Ranks& ranks) {
  const Coord coord = coord_of(step.plan, ranks);
  backend.connect(step.plan, coord, links_of(step, coord));
}

Opened open_run(const Options& o, const Backend& backend, Ranks& ranks, const StartAhead& ahead, PreparedRun prepared) {
  std::optional<RunStart> start;
  const bool is_prepared = prepared.step != nullptr;
  if (!is_prepared) prepared.step = std::make_unique<PlannedStep>();
  PlannedStep& step = *prepared.step;
  const auto need = [&] { return memory_need(o, step, backend, start->resumes()); };
  SavePlaces places;
  on_all_ranks(ranks, [&] {
    check(o.model.padded_vocab_size > 0,
          "the vocabulary size is unknown: give --vocab-size, or a tokenizer with --tokenizer-type");
    if (!o.train.dry_run) check_sizes(o, backend), places = take_save_places(o.train, ranks.rank());
  });
  start = choose_start(o, ranks, {}, ahead.compared);
  say_age(o, "the checkpoint to start from is chosen", ahead.began);
  const bool is_filled = read_ahead(prepared, *start, ranks);
  if (is_filled) say_age(o, "the state is read, beside the end of the former ranks", ahead.began);
  if (!is_prepared) step = plan_alike([&] { return step_spec(o, stage_of(o, ranks)); }, backend, ranks);
  on_all_ranks(ranks, [&] {
    if (ahead.find_room) {
      ahead.find_room(step.plan.arena_bytes);
      say_age(o, "the device has enough free memory", ahead.began);
    }
    if (!o.train.dry_run)
      check_memory(o, need(), backend, ranks.place());  // first, because an index may take long to build
  });
  if (!o.train.dry_run || ranks.size() == 1)
    connect_ranks(step, backend, ranks);  // a dry run of several ranks only counts
  say_age(o, "the step is planned, and all devices are connected", ahead.began);
  on_all_ranks(ranks, [&] { check_sizes_to_come(BatchSizes(o), start->progress().state.consumed_samples); });
  const SampleCounts asked = sample_counts(run_length(o, start->progress().state));
  Datasets datasets;  // a plan needs no files, so a dry run works before there is any data
  const bool is_masked = o.model.architecture != Architecture::gpt;  // its index takes long to build
  if (!o.train.dry_run || (o.data.mock_data && !is_masked))
    datasets = open_data(o, ranks, asked);
  else if (const std::string missing = missing_data(o.data); !missing.empty())
    log::say("> {} does not exist: a dry run needs no data, but the run itself needs it", missing);
  MemoryNeed total;
  on_all_ranks(ranks, [&] {
    if (o.train.print_graph) log::say("{}", print(step.graphs.front()));
    if (o.train.print_plan) log::say("{}{}", print(step.passes), print(step.plan));
    total = need();
    if (!o.train.dry_run) check_memory(o, total, backend, ranks.place());
    if (!o.train.dry_run) check_host_memory(total, available_host_bytes() / ranks.place().local_size);
  });
  say_plan(o, step, total, *start, backend, ranks);
  return {.start = std::move(*start),
          .step = std::move(prepared.step),
          .interpreter = std::move(prepared.interpreter),
          .is_filled = is_filled,
          .asked = asked,
          .datasets = std::move(datasets),
          .need = total,
          .places = std::move(places),
          .began = ahead.began};
}

}  // namespace megalith
