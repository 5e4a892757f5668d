// Runs a stage's list of tasks: data in, activations and gradients from and to the neighbours, and the programs of the
// model pieces. Sends overlap the following tasks.
#pragma once
#include <deque>
#include <functional>
#include <map>

#include "step/feed.h"
#include "step/step.h"

namespace megalith {

// The messages that the rank at `coord` sends and receives; none without a pipeline.
std::vector<Link> links_of(const PlannedStep& step, const Coord& coord);

class Pipeline {
 public:
  Pipeline(const PlannedStep& step, Interpreter& interpreter, const Coord& coord);

  using Next = std::function<Batch()>;  // the next micro-batch
  // Forward and backward of all micro-batches of a step: as many as the plan knows steps to have. `added`: called when
  // a micro-batch's loss is in the sum, on the stage that has it.
  void step(const Next& next, i64 micro_batches, const std::function<void()>& added);
  // Only the forwards of this many micro-batches, in the schedule's order. The last stage's programs accumulate the
  // loss.
  void evaluate(const Next& next, i64 micro_batches);
  const StagePiece& last_piece() const { return stage_.pieces.back(); }

 private:
  struct Run {
    int program;
    bool first;
    int slot;
  };
  Run run_of(const Task& task, const std::string& program) const;
  void make_ready();
  void make_steps_ready();
  void run(const Task& task, const std::string& program);
  void forward(const Task& task, const std::string& program, const Next& next);
  void backward(const Task& task);
  const Batch& batch(int micro_batch, const Next& next);
  void forget_batches_before(int micro_batch);
  std::vector<int> receive(const std::string& way, int count, const Task& task);
  void join(const std::vector<int>& tickets);
  void expect_gradients(const TaskList& tasks, size_t here);
  void send(const std::string& way, int count, const Task& task);
  void await_sent(const std::string& way, int count, const Task& task);
  void await_all_sent();
  int rank_of(int stage) const;

  const PlannedStep& step_;
  const PipelineStage& stage_;
  Interpreter& interpreter_;
  Coord coord_;
  int micro_batches_;          // of the step under way
  std::vector<Feed> feeds_;    // by chunk
  std::deque<Batch> batches_;  // from the first one that is still needed
  int first_batch_ = 0;
  std::map<std::pair<std::string, int>, int> sent_;  // tickets, by leaf and slot
  std::deque<std::vector<int>> expected_;            // tickets of gradients, in the order of the tasks that read them
  size_t next_expected_ = 0;                         // task
  std::vector<int> forwards_;                        // by chunk: how many are done
};

}  // namespace megalith
