// Pipeline schedules as lists: complete, in order, with the memory they promise, and with channels whose two ends
// agree.
#include "plan/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "tests/plan/schedule_specs.h"

namespace megalith {

namespace {

using Kind = Task::Kind;

std::string schedule_refusal(const ScheduleSpec& spec, int stage = 0) {
  try {
    schedule(spec, stage);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// The most between forward and backward, whatever the weights do.
int forwards_ahead(TaskList tasks) {
  std::erase_if(tasks, [](const Task& t) { return t.kind == Kind::weights; });
  return in_flight(tasks);
}

}  // namespace

TEST(Schedule, EveryTaskOnceInItsOrder) {
  const auto specs = all_schedules();
  EXPECT_GT(specs.size(), 2000u);
  for (const ScheduleSpec& spec : specs) {
    SCOPED_TRACE(text(spec));
    const int kinds = spec.split_weights ? 3 : 2;
    for (const TaskList& tasks : all_stages(spec)) {
      std::map<std::pair<int, int>, int> done;
      for (const Task& t : tasks) ASSERT_EQ(done[std::pair(t.micro_batch, t.chunk)]++, int(t.kind)) << print(t);
      ASSERT_EQ(done.size(), size_t(spec.micro_batches) * spec.chunks);
      for (const auto& [key, n] : done) {
        ASSERT_EQ(n, kinds);
        ASSERT_TRUE(key.first >= 0 && key.first < spec.micro_batches && key.second >= 0 && key.second < spec.chunks);
      }
    }
  }
}

TEST(Schedule, ChannelsAreTakenInTheOrderTheyAreFilled) {
  for (const ScheduleSpec& spec : all_schedules()) {
    SCOPED_TRACE(text(spec));
    using Key = std::tuple<int, int, Kind>;  // from, to, kind
    std::map<Key, TaskList> sent, taken;     // as the receiver's tasks
    const auto lists = all_stages(spec);
    for (int s = 0; s < spec.stages; ++s)
      for (const Task& t : lists[s]) {
        if (const auto to = target(spec, s, t))
          sent[{s, to->stage, t.kind}].push_back({t.kind, t.micro_batch, to->chunk});
        if (const auto from = source(spec, s, t)) taken[{from->stage, s, t.kind}].push_back(t);
      }
    ASSERT_TRUE(sent == taken);
    const size_t links = spec.stages > 1 ? spec.stages - (spec.chunks == 1) : 0;
    ASSERT_EQ(sent.size(), 2 * links);
  }
}

TEST(Schedule, SourceAndTargetAreInverse) {
  const ScheduleSpec spec{3, 2, 6};
  EXPECT_EQ(target(spec, 2, {Kind::forward, 0, 0}), (StageChunk{0, 1}));
  EXPECT_EQ(target(spec, 0, {Kind::backward, 0, 1}), (StageChunk{2, 0}));
  EXPECT_EQ(target(spec, 2, {Kind::forward, 0, 1}), std::nullopt);
  EXPECT_EQ(target(spec, 0, {Kind::backward, 0, 0}), std::nullopt);
  for (int s = 0; s < 3; ++s)
    for (int c = 0; c < 2; ++c)
      for (Kind kind : {Kind::forward, Kind::backward, Kind::weights})
        if (const auto to = target(spec, s, {kind, 4, c}))
          EXPECT_EQ(source(spec, to->stage, {kind, 4, to->chunk}), (StageChunk{s, c}));
        else
          EXPECT_TRUE(kind != Kind::forward || (s == 2 && c == 1));
}

TEST(Schedule, HoldsAsManyMicroBatchesAsPromised) {
  for (const ScheduleSpec& spec : all_schedules()) {
    SCOPED_TRACE(text(spec));
    const int n = spec.micro_batches * spec.chunks;
    const auto lists = all_stages(spec);
    for (int s = 0; s < spec.stages; ++s) {
      const int after = spec.stages - s - 1;
      const int ahead = spec.chunks == 1 ? after + 1 : 2 * after + (spec.chunks - 1) * spec.group_or_default() + 1;
      ASSERT_EQ(forwards_ahead(lists[s]), std::min(ahead, n));
      ASSERT_EQ(in_flight(lists[s]), std::min(ahead + (spec.split_weights ? s : 0), n));
      ASSERT_LE(in_flight(lists[s]), in_flight(lists[0])) << "split weights hold more than the first stage does anyhow";
    }
  }
}

TEST(Schedule, NoTwoInFlightShareASlot) {
  for (const ScheduleSpec& spec : all_schedules()) {
    SCOPED_TRACE(text(spec));
    const Kind last = spec.split_weights ? Kind::weights : Kind::backward;
    for (const TaskList& tasks : all_stages(spec)) {
      int all = 0;
      for (int c = 0; c < spec.chunks; ++c) {
        const int n = slots(tasks, c);
        all += n;
        std::vector<int> holder(n, -1);
        int held = 0, most = 0;
        for (const Task& t : tasks) {
          if (t.chunk != c) continue;
          int& slot = holder[t.micro_batch % n];
          if (t.kind == Kind::forward) {
            ASSERT_EQ(slot, -1) << print(t);
            slot = t.micro_batch;
            most = std::max(most, ++held);
          } else if (t.kind == last) {
            ASSERT_EQ(slot, t.micro_batch);
            slot = -1, --held;
          }
        }
        ASSERT_EQ(n, most) << "more slots than micro-batches in flight";
      }
      ASSERT_GE(all, in_flight(tasks));
    }
  }
}

TEST(Schedule, SlotsAreRaisedUntilNoTwoCollide) {
  // 0 and 2 are in flight together, two at a time: they collide in two slots.
  const TaskList odd = {{Kind::forward, 0, 0}, {Kind::forward, 1, 0},  {Kind::backward, 1, 0},
                        {Kind::forward, 2, 0}, {Kind::backward, 0, 0}, {Kind::backward, 2, 0}};
  EXPECT_EQ(in_flight(odd), 2);
  EXPECT_EQ(slots(odd, 0), 3);
  EXPECT_EQ(slots({}, 0), 1);
}

TEST(Schedule, OneStageRunsForwardAndBackwardInTurn) {
  const TaskList want = {{Kind::forward, 0, 0}, {Kind::backward, 0, 0}, {Kind::forward, 1, 0}, {Kind::backward, 1, 0}};
  EXPECT_EQ(schedule({1, 1, 2}, 0), want);
}

TEST(Schedule, TheOrderOfInterleavingWithGroups) {
  // Two stages of two chunks, four micro-batches in groups of two: last stage, warm-up of one group.
  std::string order;
  for (const Task& t : schedule({2, 2, 4}, 1))
    order += fmt::format("{}{}{} ", "FBW"[int(t.kind)], t.micro_batch, "ab"[t.chunk]);
  EXPECT_EQ(order, "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a ");
}

TEST(Schedule, RefusesWhatCannotRun) {
  EXPECT_EQ(schedule_refusal({0, 1, 4}), "a pipeline of 0 stages: give at least 1");
  EXPECT_EQ(schedule_refusal({2, 0, 4}), "0 virtual stages a pipeline rank: give at least 1");
  EXPECT_EQ(schedule_refusal({2, 1, 0}), "a pipeline step of 0 micro-batches: give at least 1");
  EXPECT_EQ(schedule_refusal({2, 1, 4}, 2), "pipeline stage 2 of 2: count from 0");
  EXPECT_NE(schedule_refusal({2, 2, 4, -1}), "");
  EXPECT_NE(schedule_refusal({1, 2, 4}).find("at least 2 pipeline stages"), std::string::npos);
  EXPECT_NE(schedule_refusal({4, 2, 3}).find("at least as many micro-batches (3) as stages (4)"), std::string::npos);
  EXPECT_NE(schedule_refusal({4, 2, 8, 3}).find("choose from 4 (pipeline stages) to 8 (micro-batches)"),
            std::string::npos);
  EXPECT_NE(schedule_refusal({4, 2, 8, 9}).find("choose from 4"), std::string::npos);
  EXPECT_NE(schedule_refusal({4, 2, 10}).find("leave a last group of 2, fewer than the 4 pipeline stages"),
            std::string::npos);
  EXPECT_EQ(schedule_refusal({4, 2, 9, 5}), "") << "a last group of as many as there are stages";
  EXPECT_EQ(schedule_refusal({4, 1, 1}), "") << "1F1B takes any number of micro-batches";
}

}  // namespace megalith
