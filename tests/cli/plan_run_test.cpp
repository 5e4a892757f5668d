// Compares plans with runs: the memory of random layouts, the interval of automatic saves, and the layout that a run
// chooses.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <regex>

#include "workshop.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

// The text rows of a plan's table that depend only on the plan. Memory of the process and its libraries is excluded.
std::string planned_rows(const std::string& text) {
  const size_t begin = text.find("- plan -");
  std::string out;
  static const std::regex row(R"(  ([a-z][^\n]*?) +([0-9]+) bytes[^\n]*\n)");
  if (begin == text.npos) return out;
  const size_t end = text.find("-----\n", begin + 40);
  const std::string table = text.substr(begin, end - begin);
  for (auto it = std::sregex_iterator(table.begin(), table.end(), row); it != std::sregex_iterator(); ++it) {
    const std::string what = (*it)[1];
    if (what != "process and libraries" && what != "total") out += what + " " + (*it)[2].str() + "\n";
  }
  return out;
}

// The stage in the report. The memory of processes differs by some hundred KiB, so another stage may use the most.
std::string fullest_stage(const std::string& text) {
  std::smatch m;
  return std::regex_search(text, m, std::regex("pipeline stage [0-9]+")) ? m.str() : "";
}

struct Layout {
  std::string flags{};
  int ranks = 1;
};
// A random layout of up to four ranks that the rules allow.
Layout random_layout(std::mt19937& random) {
  const auto one_of = [&](auto... values) {
    const std::common_type_t<decltype(values)...> all[] = {values...};
    return all[random() % std::size(all)];
  };
  const int tp = one_of(1, 2), pp = one_of(1, 1, 2), cp = tp * pp == 4 ? 1 : one_of(1, 1, 2);
  const int dp = tp * pp * cp == 4 ? 1 : one_of(1, 2), micro_batch = one_of(1, 2);
  Layout out{.ranks = tp * pp * cp * dp};
  out.flags = fmt::format(
      "--tensor-model-parallel-size {} --pipeline-model-parallel-size {} --context-parallel-size {} --micro-batch-size "
      "{} "
      "--global-batch-size {} --num-layers {} --hidden-size {} --seq-length {}",
      tp, pp, cp, micro_batch, dp * micro_batch * 4, one_of(2, 4), one_of(64, 96), one_of(32, 64));
  if (tp > 1 && random() % 2) out.flags += " --sequence-parallel";
  if (dp > 1 && random() % 2) out.flags += " --use-distributed-optimizer --overlap-param-gather --overlap-grad-reduce";
  if (pp > 1 && random() % 2) out.flags += " --pipeline-schedule zero-bubble";
  out.flags += one_of("", " --bf16", " --recompute-granularity full",
                      " --recompute-granularity selective --recompute-modules mlp");
  return out;
}

class Planned : public Workshop {
 protected:
  // CPU kernels have a workspace for each thread. So a dry run and a rank must have the same number of threads.
  Planned() { ::setenv("OMP_NUM_THREADS", "1", 1); }
  std::string line(const std::string& more) {
    return "pretrain-gpt --num-attention-heads 4 --swiglu --disable-bias-linear --position-embedding-type rope "
           "--tokenizer-type ByteTokenizer --lr 1e-3 --train-iters 1 --eval-iters 0 --no-progress --data-path " +
           data() + " " + more;
  }
};

std::vector<std::smatch> all_matches(const std::string& text, const std::regex& what) {
  return {std::sregex_iterator(text.begin(), text.end(), what), std::sregex_iterator()};
}

}  // namespace

TEST_F(Planned, RandomLayoutsTakeTheBytesOfTheirPlans) {
  std::mt19937 random(7);
  constexpr int kLayouts = 12;
  int several = 0, compared = 0;
  for (int i = 0; i < kLayouts; ++i) {
    Layout layout = random_layout(random);
    if (!has_mpirun())
      while (layout.ranks > 1) layout = random_layout(random);
    several += layout.ranks > 1;
    SCOPED_TRACE(layout.flags);
    const std::string plan = must(line(fmt::format("{} --dry-run --world-size {}", layout.flags, layout.ranks))).out;
    const Ran ran = megalith(line(layout.flags + " --log-level debug"), {.ranks = layout.ranks});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_GT(planned_rows(plan).size(), 60) << plan;
    if (fullest_stage(plan) == fullest_stage(ran.out)) {
      EXPECT_EQ(planned_rows(plan), planned_rows(ran.out));
      ++compared;
    }
    const auto used = all_matches(ran.out, std::regex(R"(planned ([0-9.]+) MiB, used ([0-9.]+) MiB)"));
    ASSERT_FALSE(used.empty()) << ran.out;
    for (const std::smatch& m : used) {
      const double planned = std::stod(m[1]), had = std::stod(m[2]);
      EXPECT_NEAR(had, planned, std::max(3.0, 0.1 * planned)) << m.str();
    }
  }
  EXPECT_GE(compared, 6);
  if (has_mpirun()) EXPECT_GE(several, 6);
}

// The interval must follow Daly's formula, with the times that the run reports.
TEST_F(Planned, SavesByItselfAsFarApartAsTheFormulaSays) {
  const double hours = 2e-4;  // so that the interval is a few steps
  const Ran ran =
      must(line("--num-layers 2 --hidden-size 64 --seq-length 64 --micro-batch-size 2 --train-iters 40 --save " +
                *this / "ck" + fmt::format(" --save-interval auto --gpu-mtbf-hours {}", hours)));
  const auto told = all_matches(
      ran.out,
      std::regex(
          R"(next save is at iteration ([0-9]+): this one delayed training by ([0-9.e-]+) s, a step takes ([0-9.e-]+) s)"));
  ASSERT_FALSE(told.empty()) << ran.out;
  int at = 10;
  for (const std::smatch& m : told) {
    const double d = std::stod(m[2]), step = std::stod(m[3]), mean = hours * 3600, x = d / (2 * mean);
    const double t = d >= 2 * mean ? mean : std::sqrt(2 * d * mean) * (1 + std::sqrt(x) / 3 + x / 9) - d;
    const int next = std::stoi(m[1]);
    EXPECT_GT(d, 0);
    EXPECT_GT(step, 0);
    EXPECT_NEAR(next - at, std::max(1.0, std::round(t / step)), 1) << m.str();
    EXPECT_TRUE(fs::exists(*this / fmt::format("ck/iter_{:07d}", at))) << at;
    at = std::min(next, 40);
  }
  EXPECT_TRUE(fs::exists(*this / "ck/iter_0000040"));
}

// Other programs slow the run and the measurement, so only the least times count.
TEST_F(Planned, TheStepTimeOfACpuIsNearThatOfARun) {
  const std::string model =
      line("--num-layers 2 --hidden-size 512 --seq-length 128 --micro-batch-size 2 --log-interval 1 --train-iters 8 ");
  const auto least = [](const std::string& text, const char* number) {
    double out = 1e9;
    for (const std::smatch& m : all_matches(text, std::regex(number))) out = std::min(out, std::stod(m[1]));
    return out;
  };
  const double predicted = least(must(model + "--dry-run").out, R"(predicted: ([0-9.e-]+) s a step)");
  const double measured = least(must(model).out, R"(elapsed time per iteration \(ms\): ([0-9.]+))") / 1e3;
  EXPECT_LT(predicted, 4 * measured);
  EXPECT_GT(predicted, measured / 4);
}

TEST_F(Planned, SavesByItselfOnAllRanksAtOnce) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  const Ran ran =
      megalith(line("--num-layers 2 --hidden-size 64 --seq-length 64 --micro-batch-size 1 --global-batch-size 4 "
                    "--train-iters 24 --save " +
                    *this / "ck" + " --save-interval auto --gpu-mtbf-hours 1e-4"),
               {.ranks = 2});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(*this / "ck/iter_0000010"));
  EXPECT_TRUE(fs::exists(*this / "ck/iter_0000024"));
}

TEST_F(Planned, AutoIsRefusedWhereItMeansNothing) {
  const std::string model = "--num-layers 2 --hidden-size 64 --seq-length 64 --micro-batch-size 2 ";
  expect_refused(line(model + "--save " + *this / "ck" + " --save-interval auto --save-retain-interval 10"),
                 "--save-retain-interval");
  expect_refused(line(model + "--save " + *this / "ck" + " --save-interval auto --gpu-mtbf-hours 0"),
                 "--gpu-mtbf-hours 0");
  expect_refused(line(model + "--save " + *this / "ck" + " --save-interval soon"), "--save-interval");
  expect_refused(line("--num-layers 2 --hidden-size 64 --seq-length 64 --layout auto"), "--global-batch-size");
}

TEST_F(Planned, TheLayoutThatARunChoosesIsPrintedAndTrains) {
  const std::string model =
      "--num-layers 2 --hidden-size 64 --seq-length 64 --global-batch-size 8 --layout auto --recompute-granularity "
      "full "
      "--log-interval 1 ";
  const Ran one = must(line(model));
  EXPECT_NE(one.out.find("--layout auto chose "), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("--micro-batch-size "), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("\nstack  "), std::string::npos) << one.out;
  EXPECT_EQ(all_matches(one.out, std::regex("--layout auto chose [^\n]*MiB")).size(), 0) << one.out;
  if (!has_mpirun()) GTEST_SKIP() << "mpirun was not found";
  const Ran four = megalith(line(model + "--pipeline-model-parallel-size 2"), {.ranks = 4});
  ASSERT_EQ(four.exit_code, 0) << four.err;
  const auto chose = all_matches(four.out, std::regex("--layout auto chose ([^\n]*)\n  ([^\n]*)\n"));
  ASSERT_EQ(chose.size(), 1) << four.out;
  EXPECT_NE(chose[0][2].str().find("--pipeline-model-parallel-size 2"), std::string::npos) << "what is given stays";
  // Explicit flags with the same values give the same training.
  std::string by_hand = model;
  by_hand.replace(by_hand.find("--layout auto"), 13, chose[0][2].str());
  const Ran again = megalith(line(by_hand), {.ranks = 4});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(last_number(again.out, "lm loss: "), last_number(four.out, "lm loss: "));
}

TEST_F(Planned, CheckHoldsARunAgainstItsPlan) {
  const Ran ran =
      must(line("--num-layers 2 --hidden-size 64 --seq-length 64 --micro-batch-size 2 --train-iters 6 "
                "--log-interval 1 --save-interval 100 --save " +
                *this / "ck --metrics-file " + *this / "ck/metrics.jsonl"));
  spit(*this / "ck/run.log", ran.out);
  const Ran check = must("plan --check " + *this / "ck");
  const auto step = all_matches(check.out, std::regex(R"(a step: ([0-9.e-]+) s predicted, ([0-9.e-]+) s measured)"));
  ASSERT_EQ(step.size(), 1) << check.out;
  EXPECT_GT(std::stod(step[0][1]), 0);
  EXPECT_GT(std::stod(step[0][2]), 0);
  const auto memory =
      all_matches(check.out, std::regex(R"(([0-9.]+) MiB planned, ([0-9.]+) MiB used: ([+-][0-9.]+)%)"));
  ASSERT_EQ(memory.size(), 1) << check.out;
  EXPECT_NEAR(std::stod(memory[0][2]), last_number(ran.out, ", used "), 0.06);
  EXPECT_LT(std::abs(std::stod(memory[0][3])), 20);
  // The report has the same prediction.
  must("report " + *this / "ck --hardware cpu");
  const std::string page = slurp(*this / "ck/report.html");
  EXPECT_TRUE(std::regex_search(page, std::regex(R"(<td>Step time, ms</td><td>[0-9.]+</td><td>[0-9.]+</td>)")));
  expect_refused("report " + *this / "ck --hardware nowhere", "nowhere");
  expect_refused("plan --check " + *this / "nowhere", "no such directory");
  fs::create_directory(*this / "empty");
  expect_refused("plan --check " + *this / "empty", "arguments_*.txt");
  spit(*this / "empty/arguments_0000000.txt", "hello\n");
  expect_refused("plan --check " + *this / "empty", "no file of a run's arguments");
  spit(*this / "ck/metrics.jsonl", "{\"iteration\": 3}\nx\n");
  expect_refused("plan --check " + *this / "ck", "line 2");
}

}  // namespace megalith::test
