#include "plan/schedule.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"

namespace megalith {

namespace {

using Kind = Task::Kind;

size_t warm_up(const ScheduleSpec& spec, int stage) {
  const int after = spec.stages - stage - 1;
  return spec.chunks == 1 ? after : 2 * after + (spec.chunks - 1) * spec.group_or_default();
}

Kind last_kind(const TaskList& tasks) {
  const bool split = std::any_of(tasks.begin(), tasks.end(), [](const Task& t) { return t.kind == Kind::weights; });
  return split ? Kind::weights : Kind::backward;
}

// Whether micro-batches of the chunk can use slot micro_batch % n in turn.
bool slots_suffice(const TaskList& tasks, int chunk, int n) {
  const Kind last = last_kind(tasks);
  std::vector<bool> taken(n);
  for (const Task& t : tasks) {
    if (t.chunk != chunk || (t.kind != Kind::forward && t.kind != last)) continue;
    if (t.kind == Kind::forward && taken[t.micro_batch % n]) return false;
    taken[t.micro_batch % n] = t.kind == Kind::forward;
  }
  return true;
}

std::optional<StageChunk> neighbour(const ScheduleSpec& spec, int stage, int chunk, int step) {
  const int to = chunk * spec.stages + stage + step;
  if (to < 0 || to >= spec.stages * spec.chunks) return std::nullopt;
  return StageChunk{to % spec.stages, to / spec.stages};
}

}  // namespace

void check_schedule(const ScheduleSpec& spec) {
  check(spec.stages >= 1, "a pipeline of {} stages: give at least 1", spec.stages);
  check(spec.chunks >= 1, "{} virtual stages a pipeline rank: give at least 1", spec.chunks);
  check(spec.micro_batches >= 1, "a pipeline step of {} micro-batches: give at least 1", spec.micro_batches);
  check(spec.group >= 0, "groups of {} micro-batches: give at least as many as pipeline stages, {}", spec.group,
        spec.stages);
  if (spec.chunks == 1) return;
  check(spec.stages > 1,
        "{} virtual stages a rank need at least 2 pipeline stages, there is 1: raise the pipeline size or take 1 "
        "virtual stage",
        spec.chunks);
  check(spec.micro_batches >= spec.stages,
        "virtual pipeline stages need at least as many micro-batches ({}) as stages ({}): raise the global batch size "
        "or take 1 virtual stage",
        spec.micro_batches, spec.stages);
  const int group = spec.group_or_default(), rest = spec.micro_batches % group;
  check(group >= spec.stages && group <= spec.micro_batches,
        "groups of {} micro-batches a virtual stage: choose from {} (pipeline stages) to {} (micro-batches)", group,
        spec.stages, spec.micro_batches);
  check(rest == 0 || rest >= spec.stages,
        "{} micro-batches in groups of {} leave a last group of {}, fewer than the {} pipeline stages: choose a group "
        "or batch size that leaves none or "
        "at least {}",
        spec.micro_batches, group, rest, spec.stages, spec.stages);
}

// Backwards process chunks from the last to the first.
TaskList forwards(const ScheduleSpec& spec) {
  TaskList order;
  const int group = spec.chunks > 1 ? spec.group_or_default() : spec.micro_batches;
  for (int first = 0; first < spec.micro_batches; first += group)
    for (int chunk = 0; chunk < spec.chunks; ++chunk)
      for (int m = first; m < std::min(first + group, spec.micro_batches); ++m)
        order.push_back({Kind::forward, m, chunk});
  return order;
}

TaskList schedule(const ScheduleSpec& spec, int stage) {
  check_schedule(spec);
  check(stage >= 0 && stage < spec.stages, "pipeline stage {} of {}: count from 0", stage, spec.stages);
  const TaskList order = forwards(spec);
  const size_t n = order.size(), ahead = std::min(warm_up(spec, stage), n), behind = stage;
  TaskList tasks(order.begin(), order.begin() + ahead);
  auto reverse = [&](Kind kind, const Task& t) { tasks.push_back({kind, t.micro_batch, spec.chunks - 1 - t.chunk}); };
  for (size_t i = 0; i < n; ++i) {
    if (ahead + i < n) tasks.push_back(order[ahead + i]);
    reverse(Kind::backward, order[i]);
    if (spec.split_weights && i >= behind) reverse(Kind::weights, order[i - behind]);
  }
  if (spec.split_weights)
    for (size_t i = n - std::min(behind, n); i < n; ++i) reverse(Kind::weights, order[i]);
  return tasks;
}

std::optional<StageChunk> source(const ScheduleSpec& spec, int stage, const Task& task) {
  if (task.kind == Kind::weights) return std::nullopt;
  return neighbour(spec, stage, task.chunk, task.kind == Kind::forward ? -1 : 1);
}

std::optional<StageChunk> target(const ScheduleSpec& spec, int stage, const Task& task) {
  if (task.kind == Kind::weights) return std::nullopt;
  return neighbour(spec, stage, task.chunk, task.kind == Kind::forward ? 1 : -1);
}

int slots(const TaskList& tasks, int chunk) {
  TaskList own;
  std::copy_if(tasks.begin(), tasks.end(), std::back_inserter(own), [&](const Task& t) { return t.chunk == chunk; });
  int n = std::max(1, in_flight(own));
  while (!slots_suffice(own, chunk, n)) ++n;
  return n;
}

int gradients_ahead(const ScheduleSpec& spec) { return spec.chunks == 1 ? 0 : spec.group_or_default() - spec.stages; }

int in_flight(const TaskList& tasks) {
  const Kind last = last_kind(tasks);
  int now = 0, most = 0;
  for (const Task& t : tasks) {
    if (t.kind == Kind::forward) most = std::max(most, ++now);
    if (t.kind == last) --now;
  }
  return most;
}

std::string print(const Task& task) {
  const char* const names[] = {"forward", "backward", "weights"};
  return fmt::format("{} of micro-batch {}, chunk {}", names[int(task.kind)], task.micro_batch, task.chunk);
}

}  // namespace megalith
