#include "train/prepared_run.h"

#include <algorithm>

#include "comm/on_all_ranks.h"
#include "plan/deferred_memory.h"
#include "resume/run_begin.h"
#include "settings/schedules.h"
#include "step/pipeline.h"
#include "train/open_run.h"
#include "train/plan_alike.h"

namespace megalith {
namespace {

std::vector<DeferredMemory::Part> parts_of(const ModelState& model) {
  std::vector<DeferredMemory::Part> parts;
  for (const StateTensor& t : model.tensors())
    for (const StatePiece& p : model.pieces(t))
      for (const Leaf* leaf : {p.leaf, p.beside}) {
        if (!leaf || count(p.shape) == 0) continue;
        const i64 element = size_of(leaf->type.dtype);
        parts.push_back({leaf, p.begin * element, count(p.shape) * element});
      }
  return parts;
}

bool on_all(Ranks& ranks, bool here) {
  return std::ranges::all_of(ranks.all_gather(here ? "1" : ""), [](const std::string& text) { return !text.empty(); });
}

DeferredMemory& memory_of(const PreparedRun& run) { return dynamic_cast<DeferredMemory&>(*run.interpreter); }

}  // namespace

PreparedRun prepare_run(const Options& o, const Backend& backend, Ranks& ranks) {
  PreparedRun run;
  run.step =
      std::make_unique<PlannedStep>(plan_alike([&] { return step_spec(o, stage_of(o, ranks)); }, backend, ranks));
  connect_ranks(*run.step, backend, ranks);
  const auto* defers = dynamic_cast<const DefersMemory*>(&backend);
  const Coord coord = coord_of(run.step->plan, ranks);
  if (defers) run.interpreter = defers->make_deferred(run.step->plan, coord);
  if (!run.interpreter) return run;
  bool holds = false;
  on_all_ranks(ranks, [&] { holds = memory_of(run).hold(parts_of(ModelState(*run.step, *run.interpreter, coord))); });
  run.holds_state = on_all(ranks, holds);
  if (!run.holds_state) memory_of(run).let_go();
  return run;
}

bool read_ahead(PreparedRun& run, const RunStart& start, Ranks& ranks) {
  if (!run.holds_state) return false;
  ModelState model(*run.step, *run.interpreter, coord_of(run.step->plan, ranks));
  if (fill_ahead(ranks, start, model)) return true;
  memory_of(run).let_go();
  return run.holds_state = false;
}

}  // namespace megalith
