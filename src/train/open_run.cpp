#include "train/open_run.h"

#include <optional>

#include "base/log.h"
#include "base/process_memory.h"
#include "train/open_data.h"
#include "train/pipeline.h"
#include "train/run_begin.h"
#include "train/schedules.h"
#include "train/together.h"

namespace megalith {

Coord coord_of(const Plan& plan, const Ranks& ranks) {
  return plan.mesh.num_ranks() > 1 ? plan.mesh.coord(ranks.rank()) : Coord{};
}

int stage_of(const Options& o, const Ranks& ranks) {
  return o.train.dry_run ? 0 : mesh_of(o.parallel, o.model).coord(ranks.rank())[int(Axis::pp)];
}

// A dry run may be made before there is any data.
static Datasets open_data(const Options& o, const SampleCounts& counts) {
  if (o.train.dry_run && o.data.ways_to_name_data() == 0) return {};
  Datasets sets = open_datasets(o, counts);
  log::say("> finished creating GPT datasets ...");
  check(sets.train != nullptr, "there is nothing to train on: --split gives the training set no documents");
  if (o.train.eval_iters > 0 && o.train.eval_interval > 0 && !sets.valid)
    log::warn("--eval-interval has no effect: there is no validation data (--split, --valid-data-path)");
  return sets;
}

Datasets open_data(const Options& o, Ranks& ranks, const SampleCounts& counts) {
  Datasets datasets;
  const bool builds = ranks.place().local_rank == 0;  // a host's first rank writes the index, the others read it
  for (const bool turn : {true, false})
    together(ranks, [&] {
      if (builds == turn) datasets = open_data(o, counts);
    });
  return datasets;
}

Opened open_run(const Options& o, const Backend& backend, Ranks& ranks) {
  std::optional<RunStart> start;
  PlannedStep step;
  const auto need = [&] { return memory_need(o, step, backend, start->resumes()); };
  SavePlaces places;
  together(ranks, [&] {
    check(o.model.padded_vocab_size > 0,
          "the vocabulary's size is not known: give --vocab-size, or a tokenizer with --tokenizer-type");
    if (!o.train.dry_run) check_sizes(o, backend), places = take_save_places(o.train, ranks.rank());
  });
  start = choose_start(o, ranks);
  together(ranks, [&] {
    step = plan_step(step_spec(o, stage_of(o, ranks)), backend);
    if (!o.train.dry_run) check_memory(o, need(), backend, ranks.place());  // first: an index may take long to build
  });
  if (!o.train.dry_run) {
    const Coord coord = coord_of(step.plan, ranks);
    backend.connect(step.plan, coord, links_of(step, coord));
  }
  const SampleCounts asked = sample_counts(run_length(o, start->progress().state));
  Datasets datasets = open_data(o, ranks, asked);
  MemoryNeed total;
  together(ranks, [&] {
    if (o.train.print_graph) log::say("{}", print(step.train));
    if (o.train.print_plan) log::say("{}{}", print(step.passes), print(step.plan));
    total = need();
    log::say("{}", plan_report(o, step, total));
    if (const std::string stages = o.train.dry_run ? stages_report(o, backend) : ""; !stages.empty())
      log::say("{}", stages);
    if (!o.train.dry_run) check_memory(o, total, backend, ranks.place());
    if (!o.train.dry_run) check_host_memory(total, available_host_bytes() / ranks.place().local_size);
  });
  return {std::move(*start), std::move(step), asked, std::move(datasets), total, std::move(places)};
}

}  // namespace megalith
