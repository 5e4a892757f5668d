#include "exec/sim/pipeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "base/check.h"

namespace megalith::sim {

namespace {

using Kind = Task::Kind;

struct Message {
  Task taker;
  double ready;
};

struct Channel {
  std::vector<Message> sent;
  std::vector<double> posted;   // when the receiver was ready for each
  std::vector<double> arrived;  // when each arrived
  std::vector<double> taken;    // number taken by the receiver's tasks
  double free = 0;              // when its last transfer ends
  size_t waiting() const { return sent.size() - taken.size(); }
};

class Player {
 public:
  Player(const PipelineSpec& spec, const std::vector<TaskList>& lists) : spec_(spec), lists_(lists) {
    const size_t p = spec.schedule.stages;
    check(lists.size() == p, "{} task lists for {} pipeline stages: give one a stage", lists.size(), p);
    check(spec.costs.size() == p, "costs of {} stages for {} pipeline stages: give one a stage", spec.costs.size(), p);
    for (size_t s = 0; s < p; ++s)
      check(int(spec.costs[s].size()) == spec.schedule.chunks,
            "costs of {} chunks for stage {} with {}: give one a chunk", spec.costs[s].size(), s, spec.schedule.chunks);
    for (size_t s = 0; s < p; ++s)
      for (const Task& t : lists[s])
        if (t.micro_batch < 0 || t.micro_batch >= spec.schedule.micro_batches || t.chunk < 0 ||
            t.chunk >= spec.schedule.chunks)
          fail("stage {} has {}, of {} micro-batches and {} chunks: list tasks that exist", s, print(t),
               spec.schedule.micro_batches, spec.schedule.chunks);
    clock_.resize(p), posted_.resize(p);
    channels_[0].resize(p), channels_[1].resize(p);
    run_.stages.resize(p), run_.busy.resize(p);
    done_.assign(p, std::vector<int>(size_t(spec.schedule.chunks) * spec.schedule.micro_batches));
  }

  PipelineRun run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int s = 0; s < spec_.schedule.stages; ++s)
        for (post(s); !finished(s) && can_run(s); post(s)) play(s), moved = true;
    }
    check_finished();
    summarise();
    return std::move(run_);
  }

 private:
  bool finished(int stage) const { return run_.stages[stage].size() == lists_[stage].size(); }
  const Task& next(int stage) const { return lists_[stage][run_.stages[stage].size()]; }

  Channel* channel(Kind kind, int sender) { return &channels_[kind == Kind::backward][sender]; }
  Channel* input(int stage, const Task& t) {
    const auto from = source(spec_.schedule, stage, t);
    return from ? channel(t.kind, from->stage) : nullptr;
  }
  Channel* output(int stage, const Task& t) {
    return target(spec_.schedule, stage, t) ? channel(t.kind, stage) : nullptr;
  }

  // Prepares the stage to receive the input of its next task. Also gradients of later tasks whose micro-batches have
  // run forward, because these have a buffer.
  void post(int stage) {
    if (finished(stage)) return;
    const TaskList& list = lists_[stage];
    const size_t here = run_.stages[stage].size();
    Channel* const now = input(stage, list[here]);
    const bool is_gradient = now && list[here].kind == Kind::backward;
    if (now && !is_gradient && now->posted.size() == now->taken.size()) post(*now, clock_[stage]);
    for (size_t& at = posted_[stage]; at < list.size(); ++at) {
      const Task& t = list[at];
      if (t.kind != Kind::backward || !input(stage, t)) continue;
      Channel& in = *input(stage, t);
      const int early = int(in.posted.size() - in.taken.size()) - is_gradient;
      if (at > here && (early >= spec_.ahead || done_of(stage, t) != 1)) return;
      post(in, clock_[stage]);
    }
  }
  void post(Channel& channel, double when) {
    channel.posted.push_back(when);
    settle(channel);
  }
  void settle(Channel& c) {
    while (c.arrived.size() < std::min(c.sent.size(), c.posted.size())) {
      const size_t i = c.arrived.size();
      const double begins = spec_.send == Send::buffered ? c.sent[i].ready : std::max(c.sent[i].ready, c.posted[i]);
      c.arrived.push_back(c.free = std::max(begins, c.free) + spec_.transfer);
    }
  }

  bool can_run(int stage) {
    const Task& t = next(stage);
    if (const Channel* in = input(stage, t); in && !in->waiting()) return false;
    const auto before = in_its_place(stage, t);
    return !before || *before < output(stage, t)->arrived.size();
  }
  // What the stage's next task waits for, if it cannot run.
  std::string wait_of(int stage) {
    const Task& t = next(stage);
    if (Channel* in = input(stage, t); in && !in->waiting()) {
      const StageChunk from = *source(spec_.schedule, stage, t);
      return fmt::format("stage {} waits at {} for chunk {} of stage {}", stage, print(t), from.chunk, from.stage);
    }
    return fmt::format("stage {} waits at {} for stage {} to take the message in its slot", stage, print(t),
                       target(spec_.schedule, stage, t)->stage);
  }

  // The destination of a task's result.
  using Copy = std::tuple<int, Kind, int, int>;  // stage, kind, chunk, slot
  Copy copy_of(int stage, const Task& t) const {
    return {stage, t.kind, t.chunk, t.micro_batch % spec_.slots[stage][t.chunk]};
  }
  // The message of its channel that was sent from the same copy before.
  std::optional<size_t> in_its_place(int stage, const Task& t) {
    if (spec_.slots.empty() || !output(stage, t)) return std::nullopt;
    const auto it = held_.find(copy_of(stage, t));
    return it == held_.end() ? std::nullopt : std::optional(it->second);
  }

  double seconds(int stage, const Task& t) const {
    const TaskCost& c = spec_.costs[stage][t.chunk];
    if (t.kind == Kind::forward) return c.forward;
    if (t.kind == Kind::weights) return c.weights;
    return c.backward + (spec_.schedule.split_weights ? 0 : c.weights);
  }

  void play(int stage) {
    const Task& t = next(stage);
    check_own_order(stage, t);
    double start = clock_[stage];
    if (Channel* in = input(stage, t)) start = take(stage, t, *in);
    Channel* out = output(stage, t);
    if (const auto before = in_its_place(stage, t)) start = std::max(start, out->arrived[*before]);
    if (out && !spec_.slots.empty()) held_[copy_of(stage, t)] = out->sent.size();
    const double end = start + seconds(stage, t);
    if (out) {
      out->sent.push_back({{t.kind, t.micro_batch, target(spec_.schedule, stage, t)->chunk}, end});
      settle(*out);
    }
    run_.stages[stage].push_back({t, start, end});
    run_.busy[stage] += end - start;
    clock_[stage] = end;
  }

  int& done_of(int stage, const Task& t) {
    return done_[stage][t.chunk * spec_.schedule.micro_batches + t.micro_batch];
  }

  // A rank's own tasks of a (micro-batch, chunk) come in the order forward, backward, weights.
  void check_own_order(int stage, const Task& t) {
    int& done = done_of(stage, t);
    if (done != int(t.kind))
      fail("stage {} runs {} out of order: forward, backward and weights come once each, in this order", stage,
           print(t));
    ++done;
  }

  double take(int stage, const Task& t, Channel& in) {
    const Message& m = in.sent[in.taken.size()];
    if (m.taker != t)
      fail("stage {} is at {}, but the next in its channel is for {}: both ends must go in the same order", stage,
           print(t), print(m.taker));
    in.taken.push_back(std::max(clock_[stage], in.arrived[in.taken.size()]));
    return in.taken.back();
  }

  void check_finished() {
    std::string waits;
    for (int s = 0; s < spec_.schedule.stages; ++s)
      if (!finished(s)) waits += (waits.empty() ? "" : "; ") + wait_of(s);
    check(waits.empty(), "the pipeline is deadlocked: {}: change the order of their tasks", waits);
    for (int kind = 0; kind < 2; ++kind)
      for (int s = 0; s < spec_.schedule.stages; ++s)
        if (channels_[kind][s].waiting())
          fail("stage {} sent what nobody takes: {} is not in the next stage's list", s,
               print(channels_[kind][s].sent.back().taker));
  }

  void summarise() {
    run_.seconds = *std::max_element(clock_.begin(), clock_.end());
    const double busy = std::accumulate(run_.busy.begin(), run_.busy.end(), 0.0);
    run_.bubble = busy > 0 ? (run_.seconds * spec_.schedule.stages - busy) / busy : 0;
    for (const TaskList& list : lists_) run_.in_flight.push_back(in_flight(list));
  }

  const PipelineSpec& spec_;
  const std::vector<TaskList>& lists_;
  PipelineRun run_;
  std::vector<size_t> posted_;          // a stage's first task whose gradient it is not ready to receive
  std::vector<double> clock_;           // when a stage's last task ended
  std::vector<Channel> channels_[2];    // [forward, backward][sender]
  std::map<Copy, size_t> held_;         // the last message sent from each copy
  std::vector<std::vector<int>> done_;  // [stage][chunk, micro-batch]: number of its tasks that are done
};

std::string label(const Task& t, bool chunks) {
  return fmt::format("{}{}{}", "FBW"[int(t.kind)], t.micro_batch,
                     chunks ? std::string(1, char('a' + t.chunk % 26)) : "");
}

}  // namespace

std::vector<std::vector<int>> slots_of_stages(const ScheduleSpec& schedule) {
  std::vector<std::vector<int>> out(schedule.stages);
  for (int s = 0; s < schedule.stages; ++s) {
    const TaskList tasks = megalith::schedule(schedule, s);
    for (int c = 0; c < schedule.chunks; ++c) out[s].push_back(slots(tasks, c));
  }
  return out;
}

PipelineSpec even_pipeline(const ScheduleSpec& schedule, const TaskCost& cost) {
  return {schedule, std::vector(schedule.stages, std::vector(schedule.chunks, cost))};
}

PipelineRun run_pipeline(const PipelineSpec& spec) {
  check_schedule(spec.schedule);
  std::vector<TaskList> lists;
  for (int s = 0; s < spec.schedule.stages; ++s) lists.push_back(schedule(spec.schedule, s));
  return run_pipeline(spec, lists);
}

PipelineRun run_pipeline(const PipelineSpec& spec, const std::vector<TaskList>& lists) {
  return Player(spec, lists).run();
}

double bubble_formula(const ScheduleSpec& s, const TaskCost& c) {
  const double tasks = double(s.micro_batches) * s.chunks, ramp = s.stages - 1;
  // weight tasks that the last stage keeps for the end
  const double hidden = s.split_weights ? std::min(ramp, tasks - 1) : 0;
  const double fill = s.split_weights ? 0 : c.weights;
  const double idle =
      ramp * (c.forward + fill) + (ramp - hidden) * c.backward + hidden * std::max(0.0, c.backward - c.weights);
  const double compute = tasks * (c.forward + c.backward + c.weights);
  return compute > 0 ? idle / compute : 0;
}

std::string draw(const PipelineRun& run, int columns) {
  double unit = std::numeric_limits<double>::infinity();
  size_t widest = 0;
  bool chunks = false;
  for (const auto& tasks : run.stages)
    for (const TimedTask& t : tasks) chunks |= t.task.chunk > 0;
  for (const auto& tasks : run.stages)
    for (const TimedTask& t : tasks) {
      if (t.end > t.start) unit = std::min(unit, t.end - t.start);
      widest = std::max(widest, label(t.task, chunks).size());
    }
  std::string text;
  for (size_t s = 0; s < run.stages.size(); ++s) {
    std::string line = fmt::format("stage {:{}} | ", s, std::to_string(run.stages.size() - 1).size());
    const size_t begin = line.size();
    auto column = [&](double seconds) { return begin + size_t(std::llround(seconds / unit * double(widest + 1))); };
    for (const TimedTask& t : run.stages[s]) {
      if (!(t.end > t.start)) continue;  // takes no time, so it is not drawn
      if (line.size() > size_t(columns)) break;
      line.resize(std::max(line.size(), column(t.start)), ' ');
      std::string cell = label(t.task, chunks);
      cell.resize(std::max(cell.size() + 1, column(t.end) - line.size()) - 1, '-');
      line += cell + ' ';
    }
    line.resize(line.find_last_not_of(' ') + 1);
    if (line.size() > size_t(columns)) line = line.substr(0, std::max(columns - 3, 0)) + "...";
    text += line + "\n";
  }
  return text;
}

}  // namespace megalith::sim
