// Simulates the task lists of all pipeline stages against a clock. A task starts when the rank has finished the
// previous one and its input has arrived. Its output travels in a FIFO channel (one per sender and kind) while the
// rank continues.
#pragma once
#include <string>
#include <vector>

#include "plan/schedule.h"

namespace megalith::sim {

struct TaskCost {  // seconds
  double forward = 0;
  double backward = 0;  // gradients of inputs
  double weights = 0;   // gradients of parameters: part of the backward task unless the schedule splits it
};

// When a transfer starts. buffered: when its data exist and the channel is free (the receiver has a buffer).
// rendezvous: not before the receiver has reached the task that takes it, or an earlier task that posts the receive.
// Both block only the channel.
enum class Send { buffered, rendezvous };

struct PipelineSpec {
  ScheduleSpec schedule;
  std::vector<std::vector<TaskCost>> costs;  // [stage][chunk]
  double transfer = 0;                       // seconds
  Send send = Send::buffered;
  // The number of copies of a chunk's output, [stage][chunk]. A task that writes copy micro_batch % slots waits until
  // the previous content was taken. Empty: unlimited.
  std::vector<std::vector<int>> slots = {};
  int ahead = 0;  // gradients that a rank is ready to receive before it reaches their tasks (gradients_ahead)
};

struct TimedTask {
  Task task;
  double start, end;  // seconds
};

struct PipelineRun {
  double seconds = 0;
  double bubble = 0;  // idle time of all stages over their compute: Megatron's fraction, (p - 1) / m for even 1F1B
  std::vector<std::vector<TimedTask>> stages;
  std::vector<double> busy;    // seconds a stage computes
  std::vector<int> in_flight;  // the maximum of (micro-batch, chunk) pairs whose activations a stage holds
};

// The copies that ranks have with these schedules, from slots().
std::vector<std::vector<int>> slots_of_stages(const ScheduleSpec& schedule);

// Even costs for every stage and chunk.
PipelineSpec even_pipeline(const ScheduleSpec& schedule, const TaskCost& cost);

// Runs schedule() of every stage, or the given lists. Error, with stages and tasks, if they wait for each other, or if
// a channel's orders differ. Also if a message is never taken. Also if a rank runs a task before another one of this
// rank that it needs.
PipelineRun run_pipeline(const PipelineSpec& spec);
PipelineRun run_pipeline(const PipelineSpec& spec, const std::vector<TaskList>& lists);

// The bubble of even stages without transfers, by formulas (docs/pipeline.md). run_pipeline measures the same.
double bubble_formula(const ScheduleSpec& schedule, const TaskCost& cost);

// One line a stage: F, B or W and the number of the micro-batch; with chunks > 1 a letter for the chunk. The length is
// the time. Longer lines are cut at `columns`.
std::string draw(const PipelineRun& run, int columns = 200);

}  // namespace megalith::sim
