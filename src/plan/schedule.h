// Pipeline schedules: which task a rank runs when, as a list that follows from a few numbers. Virtual stages are
// numbered along the model, chunk * stages + stage: with several chunks a rank holds several model pieces. The last
// rank's output goes to the first rank's next chunk.
//
// Activations and gradients travel between neighbours in FIFO channels, one per sender and kind: forward tasks send to
// the next virtual stage, backward tasks to the one before. In every channel the sender's tasks produce in the order in
// which the receiver's tasks consume: messages need no tags.
//
// Sources: 1F1B is PipeDream-Flush (Narayanan et al. 2021, arXiv 2006.09503); interleaving is Narayanan et al. 2021
// (arXiv 2104.04473) in the order of Megatron-LM, so that its counts in flight hold; split weights are ZB-H1 of Qi et
// al. 2023 (arXiv 2401.10241).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct Task {
  // backward: gradients of inputs and, unless the schedule splits them off as weights, of parameters
  enum class Kind : u8 { forward, backward, weights } kind;
  int micro_batch, chunk;
  bool operator==(const Task&) const = default;
};
using TaskList = std::vector<Task>;

struct ScheduleSpec {
  int stages = 1, chunks = 1,
      micro_batches = 1;       // ranks along the pipeline, virtual stages a rank, a step's micro-batches
  int group = 0;               // chunks > 1: contiguous micro-batches of a chunk before the next chunk; 0: stages
  bool split_weights = false;  // weight gradients are separate tasks (zero-bubble)

  int group_or_default() const { return group ? group : stages; }
};

// Error if a number is below 1 or Megatron refuses the combination: several chunks need two stages, and a group in
// [stages, micro_batches]. The last group must be full or have at least `stages` micro-batches.
void check_schedule(const ScheduleSpec& spec);

// The tasks of a rank in order. Forwards run ahead of backwards by a warm-up. With one chunk the warm-up has stages -
// stage - 1 tasks. With more it has 2 (stages - stage - 1) + (chunks - 1) group. Then one forward alternates with one
// backward; the remaining backwards follow. Split weight tasks run `stage` backwards after their own; the rest of them
// fill the end of the step.
TaskList schedule(const ScheduleSpec& spec, int stage);

// A rank's forwards in order, the same on every stage: groups of micro-batches, each through all chunks. Alone they are
// the schedule of an evaluation, with any number of micro-batches.
TaskList forwards(const ScheduleSpec& spec);

// The task that computes this task's input, or takes its output: of the same kind and micro-batch. None at the ends
// of the model and for weight gradients, which stay on their rank.
struct StageChunk {
  int stage, chunk;
  bool operator==(const StageChunk&) const = default;
};
std::optional<StageChunk> source(const ScheduleSpec& spec, int stage, const Task& task);
std::optional<StageChunk> target(const ScheduleSpec& spec, int stage, const Task& task);

// Copies of a chunk's saved activations that a rank needs, at least 1. A micro-batch uses the slot `micro_batch %
// slots` from its forward to its last task (backward, or weights). No two of them share one.
int slots(const TaskList& tasks, int chunk);

// How many received gradients a rank must buffer before it runs the tasks that take them. Each belongs to a micro-batch
// whose forward has run, so it has a slot. A rank's backwards of a group continue while the receiver is still at the
// group's other chunks. If all slots were full, ranks would deadlock. 0 if groups have as many micro-batches as there
// are stages. Found and tested by simulation.
int gradients_ahead(const ScheduleSpec& spec);

// The most (micro-batch, chunk) pairs between their forward and their last task at once: they determine a rank's
// activations.
int in_flight(const TaskList& tasks);

std::string print(const Task& task);  // "backward of micro-batch 3, chunk 1"

}  // namespace megalith
