#include "observe/sinks/metrics_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/train/files.h"
#include "tests/train/records.h"

namespace megalith {

static const std::vector<JsonMember> kLoss{{"lm_loss", 2.5}};

static std::string error_of(const std::filesystem::path& path, i64 iteration) {
  try {
    MetricsFile file(path, iteration);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(MetricsLine, is_one_json_object_in_order) {
  const std::vector<JsonMember> m{{"consumed_samples", i64(1) << 60}, {"lm_loss", 0.1}, {"learning_rate", 1e-7}};
  EXPECT_EQ(metrics_line(7, m),
            R"({"iteration":7,"consumed_samples":1152921504606846976,"lm_loss":0.1,"learning_rate":1e-07})");
}

TEST(MetricsLine, says_which_value_was_not_finite) {
  const std::vector<JsonMember> m{{"lm_loss", NAN}, {"grad_norm", INFINITY}, {"a", -INFINITY}, {"b", 1.0}};
  EXPECT_EQ(
      metrics_line(7, m),
      R"({"iteration":7,"lm_loss":null,"grad_norm":null,"a":null,"b":1.0,"nonfinite":{"lm_loss":"nan","grad_norm":"inf","a":"-inf"}})");
}

TEST(MetricsFile, each_line_is_there_once_written) {
  const TempFolder folder("metrics_write");
  MetricsFile file(folder.path / "new" / "m.jsonl", 0);
  file.write(1, kLoss);
  EXPECT_EQ(read_file(folder.path / "new" / "m.jsonl"), "{\"iteration\":1,\"lm_loss\":2.5}\n");
  file.write(2, kLoss);
  EXPECT_EQ(read_file(folder.path / "new" / "m.jsonl"),
            "{\"iteration\":1,\"lm_loss\":2.5}\n{\"iteration\":2,\"lm_loss\":2.5}\n");
}

TEST(MetricsFile, resume_cuts_off_what_will_be_done_again) {
  const TempFolder folder("metrics_resume");
  const auto path = folder.path / "m.jsonl";
  write_file(path, "{\"iteration\":10}\n{\"iteration\":20}\n{\"iteration\":30}\n{\"iterat");
  { MetricsFile(path, 20).write(25, {}); }
  EXPECT_EQ(read_file(path), "{\"iteration\":10}\n{\"iteration\":20}\n{\"iteration\":25}\n");
  { MetricsFile(path, 100).write(110, {}); }
  EXPECT_EQ(read_file(path), "{\"iteration\":10}\n{\"iteration\":20}\n{\"iteration\":25}\n{\"iteration\":110}\n");
  write_file(path, "{\"iteration\":10}\n{\"iteration\":2");  // the run was killed during a write
  { MetricsFile(path, 20).write(30, {}); }
  EXPECT_EQ(read_file(path), "{\"iteration\":10}\n{\"iteration\":30}\n");
}

TEST(MetricsFile, a_new_run_keeps_the_earlier_files) {
  const TempFolder folder("metrics_aside");
  const auto path = folder.path / "m.jsonl";
  for (i64 run = 1; run <= 3; ++run) MetricsFile(path, 0).write(run, {});
  EXPECT_EQ(read_file(path), "{\"iteration\":3}\n");
  EXPECT_EQ(read_file(path.string() + ".1"), "{\"iteration\":1}\n");
  EXPECT_EQ(read_file(path.string() + ".2"), "{\"iteration\":2}\n");
}

TEST(MetricsFile, leaves_foreign_files_alone) {
  const TempFolder folder("metrics_foreign");
  const auto path = folder.path / "data.jsonl";
  for (const std::string text : {"{\"text\":\"a book\"}\n", "plain text\n", "[1]\n", "{\"iteration\":\"x\"}\n", "\n"}) {
    for (i64 iteration : {0, 5}) {
      write_file(path, text);
      EXPECT_EQ(
          error_of(path, iteration),
          "metrics file " + path.string() + ": line 1 is not a metrics line: name another file, or move this one away");
      EXPECT_EQ(read_file(path), text);
    }
  }
  write_file(path, "{\"iteration\":1}\nother\n");
  EXPECT_NE(error_of(path, 5).find("line 2 is not"), std::string::npos);
}

TEST(MetricsFile, says_why_it_cannot_be_opened) {
  const TempFolder folder("metrics_open");
  EXPECT_NE(error_of(folder.path, 0).find("Is a directory"), std::string::npos);
  write_file(folder.path / "file", "");
  EXPECT_NE(error_of(folder.path / "file" / "m.jsonl", 0).find("cannot"), std::string::npos);
}

TEST(MetricsFile, takes_a_device) { MetricsFile("/dev/null", 5).write(6, kLoss); }

TEST(MetricsFile, has_the_promised_members_in_order) {
  const Record r = record_of({{"consumed_samples", 12},
                              {"learning_rate", 1e-3},
                              {"global_batch_size", 4},
                              {"losses", 2, "lm loss"},
                              {"losses", 0.5, "load balancing loss"},
                              {"loss_scale", 1},
                              {"grad_norm", 0.5},
                              {"num_zeros", 6},
                              {"params_norm", 7},
                              {"optimizer_states", 8, "momentum"},
                              {"iteration_time", 0.25},
                              {"tokens_per_second", 1000},
                              {"tokens_per_second_per_gpu", 500},
                              {"throughput", 0.5},
                              {"mfu", 0.25},
                              {"data_wait", 0.002},
                              {"skipped_samples", 8},
                              {"skipped_iterations", 1},
                              {"nan_iterations", 0}});
  EXPECT_EQ(
      metrics_line(3, members_of(r)),
      R"({"iteration":3,"consumed_samples":12,"lm_loss":2.0,"load_balancing_loss":0.5,"learning_rate":0.001,"grad_norm":0.5,)"
      R"("iteration_ms":250.0,"tokens_per_second":1000.0,"data_wait_ms":2.0,"tflops":0.5,"mfu":0.25,"global_batch_size":4,)"
      R"("loss_scale":1.0,"skipped_iterations":1,"nan_iterations":0,"num_zeros":6,"params_norm":7.0,)"
      R"("optimizer/momentum_l2":8.0})");
}

TEST(MetricsFile, has_the_phases_of_an_iteration) {
  Record r = record_of({{"time", 1764190000.25}, {"grad_norm", 0.5}});
  r.phases = {{"forward-backward", 0.25}, {"all-grads-sync", 0}};
  EXPECT_EQ(metrics_line(3, members_of(r)),
            R"({"iteration":3,"grad_norm":0.5,"time":1764190000.25,"phase_forward_backward_ms":250.0,)"
            R"("phase_all_grads_sync_ms":0.0})");
}

TEST(MetricsFile, has_lines_of_intervals_and_evaluations) {
  const TempFolder folder("metrics_sink");
  const auto path = folder.path / "m.jsonl";
  MetricsFile file(path, 0);
  Record r = record_of({{"grad_norm", 2}});
  r.iteration = 1, r.ends_interval = false, r.is_first = true;
  file.take(r);
  r.iteration = 2, r.ends_interval = true, r.values[0].interval = 3;
  file.take(r);
  const std::vector<NamedValue> losses{{"lm loss", 2.5}, {"z loss", 1}};
  file.take_evaluation({.where = "", .iteration = 2, .losses = losses});
  file.take_evaluation({.where = "", .iteration = 2, .losses = losses, .record = false});
  file.take_evaluation({.where = "", .iteration = 2, .losses = {{"lm loss", 3}}, .set = "-wiki"});
  EXPECT_EQ(read_file(path),
            "{\"iteration\":2,\"grad_norm\":3.0}\n"
            "{\"iteration\":2,\"validation_loss\":2.5,\"validation_z_loss\":1.0}\n"
            "{\"iteration\":2,\"validation_loss-wiki\":3.0}\n");
}

}  // namespace megalith
