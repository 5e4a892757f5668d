#include "planner/plan_report.h"

#include <gtest/gtest.h>

#include "data/indexed_dataset.h"
#include "files.h"
#include "memory_machine.h"
#include "options_helpers.h"
#include "planner/communication.h"

namespace megalith {
namespace {

i64 need_with(Options options, i64 micro_batch, const Memory& machine) {
  options.train.micro_batch_size = micro_batch;
  return need_of(options, machine).total();
}

}  // namespace

// For any memory size, the suggested micro-batch size fits. The next larger divisor of the global batch does not.
TEST(PlanReport, NamesTheLargestMicroBatchThatFits) {
  const Options options = options_of(std::string(kSmallRun) + "--micro-batch-size 720 --global-batch-size 720");
  Memory machine;
  const i64 whole = need_with(options, 720, machine), one = need_with(options, 1, machine);
  for (const double part : {0.0, 0.01, 0.07, 0.2, 0.333, 0.45, 0.499, 0.501, 0.8, 0.99}) {
    machine.memory = one + i64(double(whole - one) * part);
    const std::string text = refusal(options, machine), mark = "--micro-batch-size ";
    ASSERT_NE(text.find(mark), text.npos) << text;
    const i64 named = std::stoll(text.substr(text.find(mark) + mark.size()));
    i64 next = named + 1;
    while (720 % next != 0) ++next;
    EXPECT_EQ(720 % named, 0);
    EXPECT_LE(need_with(options, named, machine), machine.memory) << part;
    EXPECT_GT(need_with(options, next, machine), machine.memory) << part;
  }
}

TEST(PlanReport, SaysWhenNothingFitsAndWhenAllDoes) {
  const Options options = options_of(std::string(kSmallRun) + "--micro-batch-size 8 --global-batch-size 8");
  Memory machine;
  machine.memory = need_with(options, 1, machine) - 1;
  EXPECT_NE(refusal(options, machine).find("no micro-batch size fits"), std::string::npos);
  machine.memory = need_with(options, 8, machine);
  EXPECT_EQ(refusal(options, machine), "");
}

// The test plans all layouts. The suggested one fits, and the alternatives do not.
TEST(PlanReport, NamesTheNearestLayoutsThatFit) {
  Options options = options_of(std::string(kSmallRun) + "--micro-batch-size 1 --global-batch-size 8");
  options.parallel.world_size = 4;
  Memory machine;
  Options cut = options, split = options;
  cut.parallel.use_distributed_optimizer = true;
  split.parallel.tensor_model_parallel_size = 2, split.parallel.sequence_parallel = true;
  const i64 whole = need_of(options, machine).total(), less = need_of(cut, machine).total();
  const i64 half = need_of(split, machine).total();
  ASSERT_LT(less, whole);
  ASSERT_LT(half, whole);
  for (const i64 memory : {whole - 1, std::max(less, half), std::min(less, half)}) {
    machine.memory = memory;
    const std::string text = refusal(options, machine);
    EXPECT_EQ(text.find("--use-distributed-optimizer") != text.npos, less <= memory) << text;
    EXPECT_EQ(text.find("--tensor-model-parallel-size 2 --sequence-parallel") != text.npos, half <= memory) << text;
  }
}

TEST(PlanReport, TellsWhatRecomputationSavesAndCosts) {
  const std::string run = std::string(kSmallRun) + "--num-layers 6 --micro-batch-size 8 --global-batch-size 16 ";
  const std::string full = "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  Memory machine;
  const auto report = [&](const std::string& flags) {
    const Options options = options_of(run + flags);
    const PlannedStep step = plan_step(step_spec(options), machine);
    return std::pair(plan_report(options, step, memory_need(options, step, machine, false)),
                     step.plan.program("micro-batch").activation_bytes);
  };
  const auto [plain, bytes] = report("");
  const auto [text, less] = report(full);
  EXPECT_EQ(plain.find("recompute"), std::string::npos);
  EXPECT_LT(less, bytes);
  EXPECT_NE(text.find(fmt::format("recompute: saves {:.1f} MiB of activations for ", double(bytes - less) / (1 << 20))),
            std::string::npos)
      << text;
}

TEST(PlanReport, TellsWhatGradientsMakeAgain) {
  Memory machine;
  const Options options = options_of(std::string(kSmallRun) + "--num-layers 6 --micro-batch-size 8 --swiglu");
  StepSpec spec = step_spec(options);
  const auto report = [&] {
    const PlannedStep step = plan_step(spec, machine);
    return plan_report(options, step, memory_need(options, step, machine, false));
  };
  // A layer has two norms and an activation, and the model has a last norm. All are f32.
  const ModelConfig& m = options.model;
  const i64 numbers = 6 * (2 * m.hidden_size + m.ffn_hidden_size) + m.hidden_size;
  const double mib = double(numbers * m.seq_length * 8 * 4) / (1 << 20);
  EXPECT_NE(report().find(fmt::format("rematerialized in gradients: {:.1f} MiB of activations", mib)),
            std::string::npos)
      << report();
  // Rematerialization costs time. If memory suffices, it is off.
  machine.memory = i64{1} << 40;
  EXPECT_EQ(report().find("rematerialized"), std::string::npos);
  spec.passes_off = {"rematerialize"};
  machine.memory = 0;
  EXPECT_EQ(report().find("rematerialized"), std::string::npos);
}

// If the run would not fit otherwise, the plan rematerializes. The check includes memory outside the plan.
TEST(PlanReport, MakesAgainRatherThanRefuses) {
  const Options options = options_of(std::string(kSmallRun) +
                                     "--num-layers 6 --micro-batch-size 8 --swiglu --save nowhere --save-interval 5 "
                                     "--async-save");
  Memory machine;
  const i64 with = need_of(options, machine).total();
  machine.memory = i64{1} << 40;
  const i64 without = need_of(options, machine).total();
  ASSERT_LT(with, without);
  for (const i64 part : {0, 1, 2, 3, 4}) {
    machine.memory = with + (without - with) * part / 4;
    EXPECT_EQ(refusal(options, machine), "") << part;
  }
}

// If the device has memory left, --async-save makes its copies on the device first.
TEST(PlanReport, HasCopiesOnTheDeviceIfItHasRoom) {
  const Options options =
      options_of(std::string(kSmallRun) + "--vocab-size 1000 --save nowhere --save-interval 5 --async-save");
  const PlannedStep step = plan_step(step_spec(options), Memory());
  Memory device;
  device.host = 5 << 20;
  const MemoryNeed none = memory_need(options, step, device, false);
  EXPECT_EQ(none.device_copies, 0);
  EXPECT_GT(none.copies, 0);
  device.memory = none.total() + none.copies + (i64{2} << 30);
  const MemoryNeed need = memory_need(options, step, device, false);
  EXPECT_EQ(need.device_copies, need.copies);
  EXPECT_EQ(need.total(), none.total() + need.copies);
  EXPECT_EQ(need.host_total(), none.host_total());
  device.memory = none.total() + none.copies / 2 + (i64{1} << 30);
  EXPECT_EQ(memory_need(options, step, device, false).device_copies, none.copies / 2);
  const std::string row = "  copies for --async-save, host ", more = "  copies for --async-save  ";
  EXPECT_NE(plan_report(options, step, need).find(more), std::string::npos);
  EXPECT_NE(plan_report(options, step, none).find(row), std::string::npos);
  EXPECT_EQ(plan_report(options, step, none).find(more), std::string::npos);
}

// The device has its own memory, so the host's need is reported separately.
TEST(PlanReport, TellsADevicesMemoryFromTheHosts) {
  const Options options = options_of(std::string(kSmallRun) + "--vocab-size 1000");
  Memory host, device;
  device.host = 5 << 20;
  const PlannedStep step = plan_step(step_spec(options), device);
  const MemoryNeed need = memory_need(options, step, device, false);
  EXPECT_EQ(need.total(), step.plan.arena_bytes + device.fixed_bytes());
  EXPECT_GT(need.host_total(), *device.host);
  EXPECT_NO_THROW(check_host_memory(need, need.host_total()));
  EXPECT_THROW(check_host_memory(need, need.host_total() - 1), Error);
  EXPECT_NO_THROW(check_host_memory(need_of(options, host), 0));  // one memory, which check_memory() checks
  EXPECT_GT(need_of(options, host).total(), need.total());
  const std::string report = plan_report(options, step, need);
  for (const char* line : {"  context and libraries ", "  beside it, of the host's "})
    EXPECT_NE(report.find(line), std::string::npos) << report;
  EXPECT_EQ(report.find("batches "), std::string::npos) << report;
  EXPECT_NE(refusal(options, device).find("MiB of the memory of none, 0.0 MiB are available"), std::string::npos);
}

// The limit of mapped bytes counts for the data's index. Evaluation and saves have their own threads.
TEST(PlanReport, CountsTheDatasPagesAndTheThreadsBesideTraining) {
  const TempFolder folder("plan_report");
  const std::string prefix = (folder.path / "d").string(), run = std::string(kSmallRun) + "--eval-iters 0 ";
  write_file(prefix + ".idx", std::string(5 << 20, 'x'));
  write_file(prefix + ".bin", std::string(3 << 20, 'x'));
  Memory machine;
  const auto need = [&](const std::string& flags) {
    Options options = options_of(run + flags);
    if (flags.empty()) return need_of(options, machine);
    options.data.mock_data = false, options.data.data_path = {"0.5", prefix, "0.5", prefix + "not-there"};
    return need_of(options, machine);
  };
  EXPECT_EQ(need("").data + need("").others, 0);
  EXPECT_EQ(need("--seed 1").data, IndexedDataset::kKeptBytes);
  EXPECT_EQ(need("--seed 1").total(), need("").total() + need("--seed 1").data);
  const i64 evaluation = need("--eval-iters 5").others, saving = need("--save x --save-interval 1").others;
  EXPECT_GT(evaluation, 0);
  EXPECT_GT(saving, 0);
  EXPECT_EQ(need("--save x --save-interval 1 --eval-iters 5").others, evaluation + saving);
}

// Computed by hand. A rank's activations are [s, b, h] in f32. The forward and the backward of a layer each reduce them
// twice over tensor parallelism. For any number of micro-batches, data-parallel ranks reduce every gradient once.
TEST(PlanReport, TellsWhatAStepSendsOverEachAxis) {
  Memory machine;
  const auto line = [&](const std::string& flags, const std::string& axes) {
    const Options options = options_of(std::string(kSmallRun) + "--vocab-size 128 --dry-run " + flags);
    const PlannedStep step = plan_step(step_spec(options), machine);
    const std::string text = plan_report(options, step, memory_need(options, step, machine, false));
    const std::string mark = "sent a step over " + axes + " ";
    const size_t at = text.find(mark);
    return at == text.npos ? -1.0 : std::stod(text.substr(at + mark.size()));
  };
  EXPECT_EQ(line("", "dp"), -1);
  const double activations = 32 * 2 * 64 * 4, layers = 2;
  const std::string tp = "--world-size 2 --tensor-model-parallel-size 2 ";
  const double once = line(tp, "tp_kv"), four_times = line(tp + "--global-batch-size 8", "tp_kv");
  EXPECT_GE(once, 4 * layers * activations);
  EXPECT_LT(once, 6 * layers * activations);
  EXPECT_NEAR(four_times / once, 4, 0.01);
  const double dp = line("--world-size 2", "dp");
  EXPECT_NEAR(line("--world-size 2 --global-batch-size 16", "dp") / dp, 1, 0.01);
  const i64 parameters = [&] {
    i64 n = 0;
    const Options o = options_of(std::string(kSmallRun) + "--vocab-size 128");
    for (const Parameter& p : plan_step(step_spec(o), machine).parameters) n += p.type.elements();
    return n;
  }();
  EXPECT_NEAR(dp / double(4 * parameters), 1, 0.01);
  for (const char* flags : {"", "--use-distributed-optimizer --overlap-grad-reduce"}) {
    const std::string sums = std::string("--world-size 2 ") + flags, weights = flags;
    const double gathered = weights.empty() ? 0 : 2.0 * double(parameters);  // half of the f32 weights, to one rank
    EXPECT_NEAR((line(sums + " --grad-reduce-in-bf16", "dp") - gathered) / (line(sums, "dp") - gathered), 0.5, 0.01);
  }
  // Stages send activations. The gradient of the tied table and the three sums at the end of the step are reduced.
  const double table = 128 * 64 * 4, sums = 3 * 8;
  EXPECT_EQ(line("--world-size 2 --pipeline-model-parallel-size 2 --global-batch-size 8", "pp"),
            4 * activations + table + sums);
}

// The first micro-batch or the update gathers the weights, once per step and into the same memory.
TEST(PlanReport, GathersBesideTheForwardCostNothing) {
  Memory machine;
  for (const char* more : {"", "--global-batch-size 16 ", "--global-batch-size 16 --bf16 ",
                           "--world-size 4 --pipeline-model-parallel-size 2 --global-batch-size 16 "}) {
    const auto step = [&](const std::string& flags) {
      const Options o =
          options_of(std::string(kSmallRun) + "--world-size 2 --use-distributed-optimizer " +
                     "--ddp-bucket-size 9000 --overlap-grad-reduce --dry-run --eval-iters 1 " + more + flags);
      const i64 micro_batches = o.train.global_batch_size / (2 * o.train.micro_batch_size);
      return std::pair(plan_step(step_spec(o), machine), micro_batches);
    };
    const auto [plain, m] = step("");
    const auto [beside, same] = step("--overlap-param-gather");
    const auto late = std::ranges::count_if(beside.buckets, [](const Bucket& p) { return p.late; });
    EXPECT_GT(late, 2);
    EXPECT_EQ(size_t(late + 1), beside.buckets.size());
    const std::vector<Sent> want = sent_a_step(plain, m), have = sent_a_step(beside, m);
    ASSERT_EQ(want.size(), have.size());
    for (size_t i = 0; i < want.size(); ++i) {
      const auto other = std::ranges::find(have, want[i].axes, &Sent::axes);
      ASSERT_NE(other, have.end());
      EXPECT_EQ(want[i].bytes, other->bytes) << more << want[i].axes;
      EXPECT_EQ(want[i].times, other->times) << more << want[i].axes;
    }
    EXPECT_EQ(plain.plan.arena_bytes, beside.plan.arena_bytes) << more;
  }
}

}  // namespace megalith
