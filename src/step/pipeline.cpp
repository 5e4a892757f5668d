#include "step/pipeline.h"

#include <set>
#include <tuple>

#include "optim/norms.h"

namespace megalith {

namespace {

constexpr int channel_of(Task::Kind kind) { return kind == Task::Kind::forward ? 0 : 1; }

int rank_at(const Mesh& mesh, const Coord& coord, int stage) {
  return mesh.rank(mesh.at(coord, groups::pipeline, stage));
}

}  // namespace

std::vector<Link> links_of(const PlannedStep& step, const Coord& coord) {
  std::vector<Link> out;
  if (!step.pipeline) return out;
  const PipelineStage& here = *step.pipeline;
  const Mesh& mesh = step.plan.mesh;
  const auto add = [&](int from, int to, int channel) {
    for (const Link& l : out)
      if (l.from == from && l.to == to && l.channel == channel) return;
    out.push_back({from, to, channel});
  };
  const int self = mesh.rank(coord);
  for (const Task& task : here.tasks.at(here.spec.schedule.micro_batches)) {
    if (const auto from = source(here.spec.schedule, here.spec.stage, task))
      add(rank_at(mesh, coord, from->stage), self, channel_of(task.kind));
    if (const auto to = target(here.spec.schedule, here.spec.stage, task))
      add(self, rank_at(mesh, coord, to->stage), channel_of(task.kind));
  }
  return out;
}

Pipeline::Pipeline(const PlannedStep& step, Interpreter& interpreter, const Coord& coord)
    : step_(step),
      stage_(*step.pipeline),
      interpreter_(interpreter),
      coord_(coord),
      micro_batches_(stage_.spec.schedule.micro_batches) {
  for (const StagePiece& piece : stage_.pieces)
    feeds_.emplace_back(step.plan, step.inputs, interpreter, coord, piece.suffix);
  make_ready();
}

// All that a step runs, of any number of micro-batches.
void Pipeline::make_steps_ready() {
  std::set<std::tuple<int, bool, int>> runs;
  const auto ready = [&](const Task& task, const std::string& program) {
    const Run r = run_of(task, program);
    if (runs.emplace(r.program, r.first, r.slot).second) interpreter_.make_ready(r.program, r.first, r.slot);
  };
  for (const auto& [n, tasks] : stage_.tasks) {
    micro_batches_ = n;
    for (const Task& task : tasks) {
      if (task.kind == Task::Kind::forward) ready(task, "forward");
      if (task.kind == Task::Kind::backward) ready(task, "backward");
      if (task.kind == Task::Kind::weights) ready(task, "weights");
    }
  }
  for (const char* end : {"update", kNorms})
    if (step_.plan.find_program(end)) interpreter_.make_ready(step_.plan.index_of(end), false, 0);
}

// All that steps and evaluations run.
void Pipeline::make_ready() {
  if (step_.plan.find_program("update")) make_steps_ready();
  for (const StagePiece& piece : stage_.pieces) {
    if (!step_.plan.find_program("evaluate" + piece.suffix)) continue;
    const int program = step_.plan.index_of("evaluate" + piece.suffix);
    interpreter_.make_ready(program, true, 0);
    for (int slot = 0; slot < piece.slots; ++slot) interpreter_.make_ready(program, false, slot);  // of any number
  }
}

int Pipeline::rank_of(int stage) const { return rank_at(step_.plan.mesh, coord_, stage); }

// Micro-batches are read in order, once each, and kept until the rank's last model piece has used them.
const Batch& Pipeline::batch(int micro_batch, const Next& next) {
  while (first_batch_ + int(batches_.size()) <= micro_batch) batches_.push_back(next());
  return batches_[size_t(micro_batch - first_batch_)];
}

void Pipeline::forget_batches_before(int micro_batch) {
  for (; first_batch_ < micro_batch && !batches_.empty(); ++first_batch_) batches_.pop_front();
}

void Pipeline::await_sent(const std::string& way, int count, const Task& task) {
  const StagePiece& piece = stage_.pieces[size_t(task.chunk)];
  for (const std::string& leaf : messages(way, count, piece)) {
    const auto it = sent_.find({leaf, task.micro_batch % piece.slots});
    if (it == sent_.end()) continue;
    interpreter_.join(it->second);
    sent_.erase(it);
  }
}

void Pipeline::await_all_sent() {
  for (const auto& [where, ticket] : sent_) interpreter_.join(ticket);
  sent_.clear();
}

// Both ends go through the values in one order.
std::vector<int> Pipeline::receive(const std::string& way, int count, const Task& task) {
  if (count == 0) return {};
  const StagePiece& piece = stage_.pieces[size_t(task.chunk)];
  const int from = rank_of(source(stage_.spec.schedule, stage_.spec.stage, task)->stage);
  std::vector<int> tickets;
  for (const std::string& leaf : messages(way, count, piece))
    tickets.push_back(
        interpreter_.receive(step_.plan.leaf(leaf), task.micro_batch % piece.slots, from, channel_of(task.kind)));
  return tickets;
}

void Pipeline::join(const std::vector<int>& tickets) {
  for (const int ticket : tickets) interpreter_.join(ticket);
}

// Starts to receive the gradient for the task `here`, and for as many later tasks as the schedule requires.
void Pipeline::expect_gradients(const TaskList& tasks, size_t here) {
  const auto takes_gradient = [&](const Task& t) {
    return t.kind == Task::Kind::backward && stage_.pieces[size_t(t.chunk)].sends > 0;
  };
  const size_t most = size_t(gradients_ahead(stage_.spec.schedule) + takes_gradient(tasks[here]));
  for (; next_expected_ < tasks.size(); ++next_expected_) {
    const Task& task = tasks[next_expected_];
    if (!takes_gradient(task)) continue;
    if (expected_.size() >= most || task.micro_batch >= forwards_[size_t(task.chunk)]) return;
    expected_.push_back(receive("dout", stage_.pieces[size_t(task.chunk)].sends, task));
  }
}

void Pipeline::send(const std::string& way, int count, const Task& task) {
  if (count == 0) return;
  const StagePiece& piece = stage_.pieces[size_t(task.chunk)];
  const int to = rank_of(target(stage_.spec.schedule, stage_.spec.stage, task)->stage);
  const int slot = task.micro_batch % piece.slots;
  for (const std::string& leaf : messages(way, count, piece))
    sent_[{leaf, slot}] = interpreter_.send(step_.plan.leaf(leaf), slot, to, channel_of(task.kind));
}

Pipeline::Run Pipeline::run_of(const Task& task, const std::string& program) const {
  const StagePiece& piece = stage_.pieces[size_t(task.chunk)];
  const std::string name = program + piece.suffix;
  const bool is_last = task.micro_batch + 1 == micro_batches_;
  const Program* runs = is_last ? step_.plan.find_program("last-" + name) : nullptr;
  if (!runs) runs = &step_.plan.program(name);
  return {int(runs - step_.plan.programs.data()), task.micro_batch == 0, task.micro_batch % piece.slots};
}

void Pipeline::run(const Task& task, const std::string& program) {
  const Run r = run_of(task, program);
  interpreter_.run(r.program, r.first, r.slot);
}

void Pipeline::forward(const Task& task, const std::string& program, const Next& next) {
  const StagePiece& piece = stage_.pieces[size_t(task.chunk)];
  const int slot = task.micro_batch % piece.slots;
  feeds_[size_t(task.chunk)](batch(task.micro_batch, next), slot);
  if (task.chunk + 1 == int(stage_.pieces.size())) forget_batches_before(task.micro_batch + 1);
  join(receive("in", piece.receives, task));
  await_sent("out", piece.sends, task);
  run(task, program);
  send("out", piece.sends, task);
}

void Pipeline::backward(const Task& task) {
  const StagePiece& piece = stage_.pieces[size_t(task.chunk)];
  if (piece.sends) join(expected_.front()), expected_.pop_front();
  await_sent("din", piece.receives, task);
  run(task, "backward");
  send("din", piece.receives, task);
}

void Pipeline::step(const Next& next, i64 micro_batches, const std::function<void()>& added) {
  micro_batches_ = int(micro_batches);
  next_expected_ = 0, forwards_.assign(stage_.pieces.size(), 0);
  const TaskList& tasks = stage_.tasks.at(micro_batches_);
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    expect_gradients(tasks, i);
    if (task.kind == Task::Kind::forward) forward(task, "forward", next), ++forwards_[size_t(task.chunk)];
    if (task.kind == Task::Kind::backward) backward(task);
    if (task.kind == Task::Kind::backward && !stage_.pieces[size_t(task.chunk)].sends) added();
    if (task.kind == Task::Kind::weights) run(task, "weights");
  }
  await_all_sent();
  batches_.clear(), first_batch_ = 0;
}

void Pipeline::evaluate(const Next& next, i64 micro_batches) {
  ScheduleSpec spec = stage_.spec.schedule;
  spec.micro_batches = int(micro_batches);
  for (const Task& task : forwards(spec)) forward(task, "evaluate", next);
  await_all_sent();
  batches_.clear(), first_batch_ = 0;
}

}  // namespace megalith
