// Pipeline schedules with a simulated clock: none deadlocks, even stages have the bubble of the formulas, and an
// invalid list is reported.
#include "exec/sim/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <tuple>

#include "base/check.h"
#include "tests/places.h"
#include "tests/plan/schedule_specs.h"

namespace megalith::sim {

namespace {

using Kind = Task::Kind;

std::string refusal(const PipelineSpec& spec, const std::vector<TaskList>& lists) {
  try {
    run_pipeline(spec, lists);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST(Pipeline, EvenStagesLoseWhatTheFormulasSay) {
  // Sums of small integers are exact. Weight gradients are cheaper, equal to and more expensive than input gradients.
  for (const TaskCost& cost : {TaskCost{1, 1, 1}, TaskCost{3, 4, 2}, TaskCost{2, 2, 3}})
    for (const ScheduleSpec& spec : all_schedules()) {
      SCOPED_TRACE(text(spec));
      const PipelineRun run = run_pipeline(even_pipeline(spec, cost));
      const double compute = spec.micro_batches * spec.chunks * (cost.forward + cost.backward + cost.weights);
      for (double busy : run.busy) ASSERT_EQ(busy, compute);
      ASSERT_NEAR(run.bubble, bubble_formula(spec, cost), 1e-12);
      const double p = spec.stages, n = double(spec.micro_batches) * spec.chunks;
      if (!spec.split_weights) {
        ASSERT_NEAR(run.bubble, (p - 1) / n, 1e-12);
      }
      if (spec.split_weights && n >= p && cost.backward >= cost.weights) {
        ASSERT_NEAR(run.bubble * compute, (p - 1) * (cost.forward + cost.backward - cost.weights), 1e-9);
      }
      if (spec.split_weights && p > 1 && n > 1) {
        ASSERT_LT(run.bubble, (p - 1) / n);
      }
    }
}

// In an evaluation all ranks work from the moment when the first micro-batch reaches them.
TEST(Pipeline, ForwardsAloneLoseOnlyTheFilling) {
  for (const ScheduleSpec& spec : all_schedules())
    for (Send send : {Send::buffered, Send::rendezvous}) {
      SCOPED_TRACE(text(spec));
      PipelineSpec pipeline = even_pipeline(spec, {1, 1, 1});
      pipeline.send = send;
      pipeline.slots = slots_of_stages(spec);
      const PipelineRun run = run_pipeline(pipeline, std::vector<TaskList>(size_t(spec.stages), forwards(spec)));
      ASSERT_EQ(run.seconds, spec.micro_batches * spec.chunks + spec.stages - 1);
    }
}

// For any number of micro-batches, with the slots that ranks have for training.
TEST(Pipeline, ForwardsAloneNeverStandStill) {
  for (int stages = 2; stages <= 5; ++stages)
    for (int chunks = 1; chunks <= 3; ++chunks) {
      const auto copies = slots_of_stages({stages, chunks, 2 * stages});
      for (int micro_batches = 1; micro_batches <= 11; ++micro_batches) {
        const ScheduleSpec spec{stages, chunks, micro_batches};
        SCOPED_TRACE(text(spec));
        PipelineSpec pipeline = even_pipeline(spec, {1, 1, 1});
        pipeline.slots = copies, pipeline.send = Send::rendezvous, pipeline.transfer = 0.25;
        const PipelineRun run = run_pipeline(pipeline, std::vector<TaskList>(size_t(stages), forwards(spec)));
        for (double busy : run.busy) ASSERT_EQ(busy, micro_batches * chunks);
      }
    }
}

TEST(Pipeline, NoneStandsStillWhateverTheSends) {
  for (const ScheduleSpec& spec : all_schedules())
    for (Send send : {Send::buffered, Send::rendezvous}) {
      SCOPED_TRACE(text(spec));
      PipelineSpec pipeline = even_pipeline(spec, {1, 1, 1});
      pipeline.send = send;
      pipeline.transfer = 0.25;
      const PipelineRun free = run_pipeline(pipeline);
      pipeline.slots = slots_of_stages(spec), pipeline.ahead = gradients_ahead(spec);
      const PipelineRun tight = run_pipeline(pipeline);
      for (const PipelineRun& run : {free, tight}) ASSERT_GE(run.bubble, bubble_formula(spec, {1, 1, 1}));
      ASSERT_EQ(free.in_flight.size(), size_t(spec.stages));
    }
}

// With the real number of slots: for each value that a chunk sends, as many as micro-batches of the chunk in flight.
// A transfer starts when the receiver is ready. These slots are enough: no rank waits for one, in groups of any size.
TEST(Pipeline, NoneWaitsForACopyToBeTaken) {
  for (const ScheduleSpec& spec : all_schedules()) {
    SCOPED_TRACE(text(spec));
    for (const TaskCost& cost : {TaskCost{1, 1, 1}, TaskCost{3, 4, 2}}) {
      PipelineSpec pipeline = even_pipeline(spec, cost);
      pipeline.send = Send::rendezvous;
      const PipelineRun free = run_pipeline(pipeline);
      pipeline.slots = slots_of_stages(spec), pipeline.ahead = gradients_ahead(spec);
      const PipelineRun run = run_pipeline(pipeline);
      ASSERT_EQ(run.seconds, free.seconds);
      ASSERT_NEAR(run.bubble, bubble_formula(spec, cost), 1e-12);
    }
  }
}

// No deadlock either if stages and transfers have arbitrary times, in training or evaluation.
TEST(Pipeline, CopiesSufficeWhateverTheTimes) {
  std::mt19937 random(17);
  const auto some = [&] { return double(random() % 8); };
  for (const ScheduleSpec& spec : all_schedules()) {
    SCOPED_TRACE(text(spec));
    PipelineSpec pipeline = even_pipeline(spec, {});
    pipeline.send = Send::rendezvous, pipeline.transfer = some();
    pipeline.slots = slots_of_stages(spec), pipeline.ahead = gradients_ahead(spec);
    for (auto& stage : pipeline.costs)
      for (TaskCost& cost : stage) cost = {some(), some(), some()};
    ASSERT_NO_THROW(run_pipeline(pipeline));
    pipeline.schedule.micro_batches = 1 + int(random() % 40);
    const std::vector<TaskList> lists(size_t(spec.stages), forwards(pipeline.schedule));
    ASSERT_NO_THROW(run_pipeline(pipeline, lists)) << pipeline.schedule.micro_batches << " micro-batches evaluated";
  }
}

// Ranks that receive a gradient only at its task deadlock in larger groups: each has filled the slots that the other
// must read.
TEST(Pipeline, LargerGroupsStandStillWithoutReceivingAhead) {
  for (const ScheduleSpec& spec : {ScheduleSpec{2, 2, 8, 8}, ScheduleSpec{2, 3, 12, 6}, ScheduleSpec{4, 2, 16, 16}}) {
    PipelineSpec pipeline = even_pipeline(spec, {1, 1, 1});
    pipeline.send = Send::rendezvous, pipeline.slots = slots_of_stages(spec);
    EXPECT_NE(refusal(pipeline, all_stages(spec)).find("to take the message in its slot"), std::string::npos)
        << text(spec);
    pipeline.ahead = gradients_ahead(spec);
    EXPECT_EQ(refusal(pipeline, all_stages(spec)), "") << text(spec);
  }
}

TEST(Pipeline, TasksStartWhenTheirInputsAreThere) {
  PipelineSpec pipeline = even_pipeline({3, 2, 7, 4, true}, {});
  pipeline.transfer = 0.5;
  for (int s = 0; s < 3; ++s)
    for (int c = 0; c < 2; ++c) pipeline.costs[s][c] = {1.0 + s, 1.5 + c, 0.5 * s};
  for (Send send : {Send::buffered, Send::rendezvous}) {
    pipeline.send = send;
    const PipelineRun run = run_pipeline(pipeline);
    std::map<std::tuple<int, int, int, int>, double> ends;  // stage, kind, chunk, micro-batch
    for (int s = 0; s < 3; ++s)
      for (const auto& [t, start, end] : run.stages[s]) ends[{s, int(t.kind), t.chunk, t.micro_batch}] = end;
    double last = 0;
    for (int s = 0; s < 3; ++s) {
      double clock = 0;
      for (const auto& [t, start, end] : run.stages[s]) {
        EXPECT_GE(start, clock);
        clock = end;
        if (const auto from = source(pipeline.schedule, s, t)) {
          EXPECT_GE(start, ends.at({from->stage, int(t.kind), from->chunk, t.micro_batch}) + pipeline.transfer)
              << print(t);
        }
      }
      last = std::max(last, clock);
    }
    EXPECT_EQ(run.seconds, last);
  }
}

TEST(Pipeline, TransfersOverlapComputeOrNot) {
  // Two stages, one micro-batch: F . F B . B, with a transfer of 2 each way.
  PipelineSpec pipeline = even_pipeline({2, 1, 1}, {1, 1, 1});
  pipeline.transfer = 2;
  EXPECT_EQ(run_pipeline(pipeline).seconds, 1 + 2 + 1 + 2 + 2 + 2);
  // Many micro-batches: buffered transfers overlap compute except at the ends; rendezvous transfers never do.
  pipeline = even_pipeline({2, 1, 16}, {1, 1, 1});
  const double compute = run_pipeline(pipeline).seconds;
  pipeline.transfer = 0.25;
  const double buffered = run_pipeline(pipeline).seconds;
  pipeline.send = Send::rendezvous;
  const double rendezvous = run_pipeline(pipeline).seconds;
  EXPECT_GT(buffered, compute);
  EXPECT_GT(rendezvous, buffered);
}

TEST(Pipeline, ASlowStageSetsThePace) {
  PipelineSpec pipeline = even_pipeline({4, 1, 32}, {1, 1, 1});
  pipeline.costs[2][0] = {2, 2, 2};
  const PipelineRun run = run_pipeline(pipeline);
  EXPECT_EQ(run.busy, (std::vector<double>{96, 96, 192, 96}));
  // Two forwards before it, one second of waiting for the first gradient, two backwards after it.
  EXPECT_EQ(run.seconds, 2 + 192 + 1 + 2 * 2);
}

TEST(Pipeline, NamesStagesAndTasksThatWaitForEachOther) {
  const ScheduleSpec spec{2, 1, 2};
  auto lists = all_stages(spec);
  // Stage 1 needs both micro-batches before it returns a gradient; stage 0 needs the gradient before the second
  // micro-batch.
  lists[1] = {{Kind::forward, 0, 0}, {Kind::forward, 1, 0}, {Kind::backward, 0, 0}, {Kind::backward, 1, 0}};
  lists[0] = {{Kind::forward, 0, 0}, {Kind::backward, 0, 0}, {Kind::forward, 1, 0}, {Kind::backward, 1, 0}};
  EXPECT_EQ(refusal(even_pipeline(spec, {1, 1, 1}), lists),
            "the pipeline is deadlocked: stage 0 waits at backward of micro-batch 0, chunk 0 for chunk 0 of stage 1; "
            "stage 1 waits at "
            "forward of micro-batch 1, chunk 0 for chunk 0 of stage 0: change the order of their tasks");
}

TEST(Pipeline, NamesWrongLists) {
  const ScheduleSpec spec{2, 1, 2};
  const PipelineSpec pipeline = even_pipeline(spec, {1, 1, 1});
  auto lists = all_stages(spec);
  std::swap(lists[0][0].micro_batch, lists[0][1].micro_batch);
  EXPECT_NE(refusal(pipeline, lists)
                .find("stage 1 is at forward of micro-batch 0, chunk 0, but the next in its channel is for "
                      "forward of micro-batch 1"),
            std::string::npos);
  lists = all_stages(spec);
  std::swap(lists[1][0], lists[1][1]);
  EXPECT_NE(refusal(pipeline, lists).find("stage 1 runs backward of micro-batch 0, chunk 0 out of order"),
            std::string::npos);
  lists = all_stages(spec);
  lists[0].pop_back();
  EXPECT_NE(refusal(pipeline, lists).find("stage 1 sent what nobody takes: backward of micro-batch 1"),
            std::string::npos);
  lists = all_stages(spec);
  lists[1][0].chunk = 1;
  EXPECT_NE(refusal(pipeline, lists).find("list tasks that exist"), std::string::npos);
  lists.pop_back();
  EXPECT_NE(refusal(pipeline, lists), "");
  EXPECT_NE(refusal({spec, {{{1, 1, 1}}}}, all_stages(spec)), "");
}

TEST(Pipeline, DrawsTimeAsLength) {
  EXPECT_EQ(draw(run_pipeline(even_pipeline({2, 1, 2}, {1, 1, 1}))),
            "stage 0 | F0 F1       B0---    B1---\n"
            "stage 1 |    F0 B0--- F1 B1---\n");
  EXPECT_EQ(draw(run_pipeline(even_pipeline({2, 1, 2}, {1, 1, 1})), 20),
            "stage 0 | F0 F1  ...\n"
            "stage 1 |    F0 B...\n");
  EXPECT_EQ(draw(run_pipeline(even_pipeline({1, 1, 1}, {}))), "stage 0 |\n") << "no time, no tasks";
}

TEST(Pipeline, TheDocumentShowsWhatTheCodeDraws) {
  std::ifstream file(std::string(kSourceDir) + "/docs/pipeline.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const ScheduleSpec& spec :
       {ScheduleSpec{4, 1, 8}, ScheduleSpec{4, 1, 8, 0, true}, ScheduleSpec{2, 2, 4}, ScheduleSpec{2, 2, 4, 0, true}}) {
    const std::string drawing = draw(run_pipeline(even_pipeline(spec, {1, 1, 1})));
    EXPECT_NE(text.str().find(drawing), std::string::npos) << "docs/pipeline.md lacks\n" << drawing;
  }
}

}  // namespace megalith::sim
