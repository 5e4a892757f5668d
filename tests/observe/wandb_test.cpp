// Tests of the W&B rows of a run's records.
#include "observe/sinks/wandb.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "config/file.h"
#include "prometheus_tools.h"
#include "tests/places.h"
#include "tests/train/files.h"
#include "tests/train/options_helpers.h"
#include "tests/train/records.h"
#include "wandb_reader.h"

namespace megalith {
namespace {

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> const char* {
    const auto it = values.find(name);
    return it == values.end() ? nullptr : it->second.c_str();
  };
}

Options options_with(const std::string& flags) {
  return options_of(std::string(kSmallRun) + "--vocab-size 101 " + flags);
}

TEST(WandbAsked, FlagsGoBeforeVariables) {
  const Options o = options_with("--wandb-project p --wandb-exp-name n --wandb-save-dir /d --run-name r");
  const WandbAsked asked = wandb_asked(o, variables({{"WANDB_NAME", "other"},
                                                     {"WANDB_DIR", "/other"},
                                                     {"WANDB_RUN_ID", "id7"},
                                                     {"WANDB_RUN_GROUP", "g"},
                                                     {"WANDB_TAGS", "a,,b"}}));
  EXPECT_TRUE(asked.is_on());
  EXPECT_EQ(asked.name, "n");
  EXPECT_EQ(asked.dir, "/d");
  EXPECT_EQ(asked.id, "id7");
  EXPECT_EQ(asked.group, "g");
  EXPECT_EQ(asked.tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(asked.mode, "offline");
}

TEST(WandbAsked, TakesVariablesAndTheSaveDirectory) {
  const Options o = options_with("--wandb-project p --save /s/x --save-interval 2");
  EXPECT_EQ(wandb_asked(o, variables({})).dir, "/s/x/wandb");
  EXPECT_EQ(wandb_asked(o, variables({{"WANDB_DIR", "/v"}})).dir, "/v");
  EXPECT_EQ(wandb_asked(o, variables({{"WANDB_NAME", "v"}})).name, "v");
  EXPECT_FALSE(wandb_asked(o, variables({{"WANDB_MODE", "disabled"}})).is_on());
  EXPECT_FALSE(wandb_asked(options_with(""), variables({{"WANDB_MODE", "nonsense"}})).is_on());
  for (const auto& [name, value] : {std::pair("WANDB_MODE", "shared"), {"WANDB_RUN_ID", "../a"}})
    EXPECT_THROW(wandb_asked(o, variables({{name, value}})), Error) << name;
  EXPECT_THROW(wandb_asked(options_with("--wandb-project p"), variables({})), Error);  // no directory to write to
}

struct Row {
  std::map<std::string, std::string> items;
  u64 step;
};

std::vector<Row> rows_of(const std::vector<std::string>& records) {
  std::vector<Row> rows;
  for (const std::string& r : records)
    if (const std::string part = record_part(r, 2); !part.empty())
      rows.push_back({wandb_items(part), proto_fields(record_part(part, 2)).at(0).value});
  return rows;
}

Record step_of(i64 iteration, double loss, bool ends = false) {
  Record r = record_of({{"losses", loss, "lm loss"}, {"learning_rate", 0.5}, {"iteration_time", 0.25}});
  r.iteration = iteration, r.consumed_samples = 4 * iteration, r.ends_interval = ends;
  return r;
}

class WandbTest : public ::testing::Test {
 protected:
  WandbTest() : folder_("wandb_run_" + std::string(test_info_->name())) {}
  std::unique_ptr<Wandb> begun(const std::string& flags, i64 iteration = 0) {
    const Options o = options_with("--wandb-project p --wandb-save-dir " + folder_.path.string() + " " + flags);
    testing::internal::CaptureStdout();
    auto sink = std::make_unique<Wandb>(o, wandb_asked(o, variables({{"WANDB_RUN_ID", "id7"}})), iteration,
                                        [this] { return now_ += 1; });
    testing::internal::GetCapturedStdout();
    return sink;
  }
  const ::testing::TestInfo* test_info_ = ::testing::UnitTest::GetInstance()->current_test_info();
  TempFolder folder_;
  double now_ = 1700000000;
};

// W&B accepts one row per step. So the row of a step has its evaluation too.
TEST_F(WandbTest, WritesARowAStep) {
  const auto sink = begun("--log-validation-ppl-to-tensorboard --log-timers-to-tensorboard");
  sink->take(step_of(1, 2.5));
  sink->take(step_of(2, NAN, true));
  sink->leave(Away::evaluating);
  sink->take_evaluation({.where = "", .iteration = 2, .losses = {{"lm loss", 3}}, .set = ""});
  sink->come_back();
  sink->take(step_of(3, -INFINITY));
  sink->finish();
  const auto records = read_wandb(read_file(sink->path()));
  const auto rows = rows_of(records);
  ASSERT_EQ(rows.size(), 3u);
  const std::vector<std::string> losses{"2.5", "NaN", "-Infinity"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i].step, i + 1);
    EXPECT_EQ(rows[i].items.at("_step"), std::to_string(i + 1));
    EXPECT_EQ(rows[i].items.at("lm loss"), losses[i]);
    EXPECT_EQ(rows[i].items.at("samples vs steps"), fmt::format("{}.0", 4 * (i + 1)));
    EXPECT_TRUE(rows[i].items.contains("_timestamp") && rows[i].items.contains("_runtime"));
    EXPECT_EQ(rows[i].items.contains("lm loss validation"), i == 1);
    EXPECT_EQ(rows[i].items.contains("iteration-time"), i == 1);
  }
  EXPECT_EQ(rows[1].items.at("lm loss validation"), "3.0");
  EXPECT_NEAR(std::stod(rows[1].items.at("lm loss validation ppl")), std::exp(3), 1e-9);
  EXPECT_EQ(rows[1].items.at("evaluate-time"), "1.0");
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(proto_fields(records[i])[0].value, i + 1);
  EXPECT_EQ(wandb_items(record_part(records[records.size() - 2], 3)).at("lm loss validation"), "3.0");
  EXPECT_NE(record_part(records.back(), 18), "");
}

TEST_F(WandbTest, TellsTheRunAndItsArguments) {
  const auto sink = begun("--wandb-entity e --run-name r", 40);
  sink->take(step_of(41, 1));
  EXPECT_EQ(sink->path().filename(), "run-id7.wandb");
  const std::string dir = sink->path().parent_path().filename();
  EXPECT_TRUE(dir.starts_with("offline-run-2023111") && dir.ends_with("-id7")) << dir;
  EXPECT_NE(read_file(sink->path().parent_path() / "files/config.yaml").find("num_layers:\n  value: 2\n"),
            std::string::npos);
  const std::string run = record_part(read_wandb(read_file(sink->path())).at(1), 17);
  for (const auto& [field, text] : {std::pair(1, "id7"), {2, "e"}, {3, "p"}, {6, "r"}, {8, "r"}})
    EXPECT_EQ(record_part(run, field), text);
  const auto config = wandb_items(record_part(run, 4), 1);
  EXPECT_EQ(config.at("num_layers"), "2");
  EXPECT_EQ(config.at("lr"), "0.001");
  EXPECT_EQ(config.at("mock_data"), "true");
  u64 starting_step = 0;
  for (const ProtoField& f : proto_fields(run))
    if (f.number == 14) starting_step = f.value;
  EXPECT_EQ(starting_step, 40u);
}

// The numbers of a row, as JSON has them: what is not finite is a name.
std::string row_of_json(i64 step, double loss, bool evaluates) {
  std::string row = fmt::format(R"({{"_step":{},"lm loss":{},"learning-rate":0.5,"samples vs steps":{})", step,
                                std::isnan(loss)   ? "NaN"
                                : std::isinf(loss) ? "-Infinity"
                                                   : fmt::format("{}", loss),
                                4 * step);
  if (evaluates) row += R"(,"lm loss validation":3.25,"iteration-time":0.25)";
  return row + "}";
}

// W&B's own code reads the file, and `wandb sync` uploads it to a server on this host. The file has many blocks.
TEST_F(WandbTest, IsWhatWandbReadsAndUploads) {
  const char* named = std::getenv("MEGALITH_WANDB_PYTHON");
  const std::string python = named ? named : "python3";
  if (run_shell(python + " -c 'import wandb'").status != 0)
    GTEST_SKIP() << "needs Python with wandb (scripts/install-wandb; MEGALITH_WANDB_PYTHON names it)";
  constexpr i64 kSteps = 2000;
  const auto sink = begun("--run-name r");
  std::string rows;
  for (i64 step = 1; step <= kSteps; ++step) {
    const double loss = step == 5 ? NAN : step == 6 ? -INFINITY : 10.0 / double(step + 3);
    const bool evaluates = step % 500 == 0;
    sink->take(step_of(step, loss, evaluates));
    if (evaluates) sink->take_evaluation({.where = "", .iteration = step, .losses = {{"lm loss", 3.25}}, .set = ""});
    rows += (rows.empty() ? "" : ",") + row_of_json(step, loss, evaluates);
  }
  sink->finish();
  Options options = options_with("--wandb-project p --wandb-save-dir " + folder_.path.string() + " --run-name r");
  const std::string wanted =
      fmt::format(R"({{"config":{},"rows":[{}],"summary":{{"lm loss":{},"_step":{}}}}})",
                  config::to_json(config::fields_of(options)), rows, 10.0 / double(kSteps + 3), kSteps);
  write_file(folder_.path / "wanted.json", wanted);
  const ToolRan ran =
      run_shell(fmt::format("{} {}/tests/observe/wandb_judge.py {} {}", python, kSourceDir,
                            sink->path().parent_path().string(), (folder_.path / "wanted.json").string()));
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_NE(ran.text.find(fmt::format("{} rows", kSteps)), std::string::npos) << ran.text;
}

// Each run has its own folder.
TEST_F(WandbTest, TwoRunsOfOneSecondAreApart) {
  const auto a = begun("");
  now_ -= 1;
  const auto b = begun("");
  EXPECT_NE(a->path(), b->path());
}

}  // namespace
}  // namespace megalith
