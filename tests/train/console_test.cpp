#include "observe/sinks/console.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <ctime>

#include "tests/train/records.h"

namespace megalith {

// Sets the local time zone to UTC during a test.
struct LogLine : testing::Test {
  void SetUp() override { set_zone("UTC"); }
  void TearDown() override { unsetenv("TZ"), tzset(); }
  static void set_zone(const char* zone) { setenv("TZ", zone, 1), tzset(); }
  // 2026-01-31 12:34:56.789012 UTC
  WallTime time = std::chrono::system_clock::from_time_t(1769862896) + std::chrono::microseconds(789012);
};

static std::vector<Given> with(std::vector<Given> more) {
  std::vector<Given> all{{"consumed_samples", 25600}, {"learning_rate", 1.5e-4}, {"global_batch_size", 256},
                         {"loss_scale", 1},           {"skipped_iterations", 0}, {"nan_iterations", 0}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

static Record at_100(const std::vector<Given>& given) {
  Record r = record_of(given);
  r.iteration = 100, r.train_iters = 10000;
  return r;
}

static TrainConfig throughput() {
  TrainConfig t;
  t.log_throughput = true;
  return t;
}

TEST_F(LogLine, is_megatrons_with_everything) {
  const Record r = at_100(with({{"iteration_time", 0.1234},
                                {"throughput", 400.1},
                                {"tokens_per_second", 200001},
                                {"tokens_per_second_per_gpu", 50000.25},
                                {"mfu", 0.4046},
                                {"data_wait", 0.00125},
                                {"losses", 9.876543, "lm loss"},
                                {"grad_norm", 1.234},
                                {"num_zeros", 5},
                                {"params_norm", 100.123}}));
  EXPECT_EQ(iteration_line(time, r, throughput()),
            " [2026-01-31 12:34:56.789012] iteration      100/   10000 | consumed samples:        25600 | elapsed time "
            "per iteration "
            "(ms): 123.4 | throughput per GPU (TFLOP/s/GPU): 400.1 | tokens per second per GPU: 50000.2 | MFU (%): "
            "40.5 | data wait per iteration (ms): 1.2 | learning rate: 1.500000E-04 | global batch size:  "
            " 256 | lm "
            "loss: 9.876543E+00 | loss scale: 1.0 | grad norm: 1.234 | num zeros: 5 | params norm: 100.123 | number of "
            "skipped "
            "iterations:   0 | number of nan iterations:   0 |");
}

TEST_F(LogLine, leaves_out_what_is_not_known_or_asked_for) {
  const Record r =
      at_100(with({{"iteration_time", 2}, {"throughput", 400}, {"data_wait", 0.001}, {"losses", 1, "lm loss"}}));
  EXPECT_EQ(iteration_line(time, r, {}),
            " [2026-01-31 12:34:56.789012] iteration      100/   10000 | consumed samples:        25600 | elapsed time "
            "per iteration "
            "(ms): 2000.0 | learning rate: 1.500000E-04 | global batch size:   256 | lm loss: 1.000000E+00 | loss "
            "scale: 1.0 | number "
            "of skipped iterations:   0 | number of nan iterations:   0 |");
}

TEST_F(LogLine, prints_nan_negative_and_skipped) {
  const Record r = at_100({{"consumed_samples", 25600},
                           {"skipped_samples", 512},
                           {"iteration_time", 0},
                           {"losses", NAN, "lm loss"},
                           {"losses", -0.5, "aux loss"},
                           {"grad_norm", -NAN},
                           {"skipped_iterations", 12},
                           {"nan_iterations", 3}});
  const std::string line = iteration_line(time, r, {});
  EXPECT_NE(line.find(" | consumed samples:        25600 | skipped samples:          512 | elapsed time"),
            std::string::npos)
      << line;
  EXPECT_NE(line.find(" | lm loss: nan | aux loss: -5.000000E-01 | "), std::string::npos) << line;
  EXPECT_NE(line.find(" | grad norm: nan | "), std::string::npos) << line;
  EXPECT_NE(line.find(" | number of skipped iterations:  12 | number of nan iterations:   3 |"), std::string::npos)
      << line;
}

TEST_F(LogLine, time_is_local_and_padded) {
  set_zone("XYZ-2");  // two hours east
  const std::string line =
      iteration_line(std::chrono::system_clock::from_time_t(1769862896) + std::chrono::microseconds(7), {}, {});
  EXPECT_EQ(line.substr(0, 30), " [2026-01-31 14:34:56.000007] ");
}

// The format of each metric must fit its values.
TEST_F(LogLine, takes_every_metric) {
  std::vector<Given> all;
  for (const Metric& m : all_metrics()) all.push_back({std::string(m.name), 1e12});
  const std::string line = iteration_line(time, record_of(all), throughput());
  for (const Metric& m : all_metrics())
    if (!m.console.name.empty() && !m.terms)
      EXPECT_NE(line.find(fmt::format(" {}: 1", m.console.name)), std::string::npos) << m.name;
}

TEST(ValidationLines, are_megatrons) {
  const std::vector<NamedValue> losses{{"lm loss", 2}};
  const std::string line =
      " validation loss at iteration 100 | lm loss value: 2.000000E+00 | lm loss PPL: 7.389056E+00 | ";
  const std::string dashes(line.size() + 1, '-');
  EXPECT_EQ(validation_lines("iteration 100", losses), dashes + "\n" + line + "\n" + dashes);
  EXPECT_NE(validation_lines("iteration 100 on test set", losses, "-wiki")
                .find(" validation-wiki loss at iteration 100 on test set | lm"),
            std::string::npos);
}

TEST(ValidationLines, perplexity_is_capped_and_keeps_nan) {
  EXPECT_DOUBLE_EQ(perplexity(25), std::exp(20.0));
  EXPECT_DOUBLE_EQ(perplexity(INFINITY), std::exp(20.0));
  EXPECT_TRUE(std::isnan(perplexity(NAN)));
  const std::vector<NamedValue> losses{{"lm loss", -NAN}, {"aux loss", -INFINITY}};
  const std::string lines = validation_lines("iteration 100", losses);
  EXPECT_NE(lines.find("lm loss value: nan | lm loss PPL: nan | aux loss value: -inf | "), std::string::npos) << lines;
}

}  // namespace megalith
