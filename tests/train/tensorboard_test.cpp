#include "observe/sinks/tensorboard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/golden.h"
#include "tests/train/files.h"
#include "tests/train/options_helpers.h"
#include "tests/train/records.h"

namespace megalith {

static std::string hex(std::string_view bytes) {
  std::string s;
  for (char b : bytes) s += fmt::format("{:02x}", u8(b));
  return s;
}

static std::string from_hex(const std::string& text) {
  std::string s;
  for (size_t i = 0; i < text.size(); i += 2) s += char(std::stoi(text.substr(i, 2), nullptr, 16));
  return s;
}

TEST(Crc32c, check_values) {
  EXPECT_EQ(tfevents::crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(tfevents::crc32c(""), 0u);
  EXPECT_EQ(tfevents::masked_crc32c(""), 0xA282EAD8u);
  EXPECT_EQ(tfevents::crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
  EXPECT_EQ(tfevents::crc32c(std::string(32, '\xff')), 0x62A8AB43u);
}

TEST(Tfevents, scalar_record_byte_by_byte) {
  EXPECT_EQ(hex(tfevents::record(tfevents::scalar_event({1700000001.5, 1}, "lm loss", 10.5f))),
            "1d00000000000000602fdf23"
            "0900006040fc54d94110012a100a0e0a076c6d206c6f73731500002841"
            "ee75562e");
}

// Writes the events of the test vector file, each with its time.
static std::filesystem::path write_vector_file(const std::filesystem::path& folder) {
  std::vector<double> times{1700000000.5, 1700000000.75, 1700000001.5, 1700000001.5,
                            1700000001.5, 1700000002.5,  1700000003.5, 1700000004.5};
  size_t next = 0;
  TensorBoardWriter w(folder, {.hostname = "testhost", .pid = 4242, .now = [&] { return times[next++]; }});
  w.text("seq_length", "1024", 0);
  w.scalar("lm loss", 10.5, 1);
  w.scalar("lm loss vs samples", 10.5, 256);
  w.scalar("learning-rate", 0.0, 0);
  w.scalar("grad-norm", 0.1f, 300);
  w.scalar("loss-scale", NAN, 3000000000);
  const std::vector<double> limits{0, 1, 2}, counts{1, 1, 1};
  w.histogram("w", {.min = -1, .max = 2, .num = 3, .sum = 1.5, .sum_squares = 5.25, .limits = limits, .counts = counts},
              5);
  return w.path();
}

TEST(TensorBoard, file_equals_the_vector_files) {
  const std::string name = "events.out.tfevents.1700000000.testhost.4242.0";
  for (const std::string& vectors : golden_vectors(name)) {
    const TempFolder folder("tensorboard_vector");
    const auto path = write_vector_file(folder.path / "runs" / "a");
    EXPECT_EQ(path.filename(), name);
    EXPECT_EQ(hex(read_file(path)), hex(read_file(vectors)));
  }
}

TEST(TensorBoard, checksums_equal_the_vectors) {
  for (const std::string& file : golden_vectors("tensorboard.json")) {
    const auto vectors = nlohmann::json::parse(std::ifstream(file));
    ASSERT_GE(vectors["crc32c"].size(), 6u);
    for (const auto& v : vectors["crc32c"]) {
      EXPECT_EQ(tfevents::crc32c(from_hex(v["hex"])), v["crc"].get<u32>());
      EXPECT_EQ(tfevents::masked_crc32c(from_hex(v["hex"])), v["masked"].get<u32>());
    }
  }
}

TEST(TensorBoard, two_writers_have_a_file_each) {
  const TempFolder folder("tensorboard_two");
  const TensorBoardOrigin origin{.hostname = "h", .pid = 1, .now = [] { return 5.0; }};
  TensorBoardWriter a(folder.path, origin), b(folder.path, origin);
  EXPECT_EQ(a.path().filename(), "events.out.tfevents.0000000005.h.1.0");
  EXPECT_EQ(b.path().filename(), "events.out.tfevents.0000000005.h.1.1");
}

// The tags and values of the scalars in a file, in order, by a small reader of this test.
static std::vector<std::pair<std::string, float>> scalars_of(const std::filesystem::path& path) {
  const std::string all = read_file(path);
  std::vector<std::pair<std::string, float>> found;
  for (size_t at = 0; at < all.size();) {
    const size_t size = u8(all[at]) | u8(all[at + 1]) << 8;
    const std::string event = all.substr(at + 12, size);
    at += 16 + size;
    const size_t value = event.rfind('\x15');
    if (event.find("brain.Event") != std::string::npos || value + 5 != event.size()) continue;
    const size_t tag = event.find('\x0a', event.find('\x0a', event.find('\x2a')) + 1);
    float f;
    std::copy_n(event.data() + value + 1, 4, reinterpret_cast<char*>(&f));
    found.emplace_back(event.substr(tag + 2, size_t(event[tag + 1])), f);
  }
  return found;
}

using Scalars = std::vector<std::pair<std::string, float>>;

TEST(TensorBoard, iteration_tags_are_megatrons) {
  const TempFolder folder("tensorboard_tags");
  TensorBoard board(folder.path, 1, {.hostname = "h", .pid = 1, .now = [] { return 5.0; }});
  std::vector<Given> given{{"learning_rate", 0.5}, {"global_batch_size", 4}, {"losses", 2.5, "lm loss"},
                           {"loss_scale", 1},      {"consumed_samples", 12}, {"iteration_time", 0.5}};
  Record r = record_of(given);
  r.ends_interval = false;
  board.take(r);
  board.finish();
  const Scalars least{
      {"learning-rate", 0.5f}, {"learning-rate vs samples", 0.5f}, {"batch-size", 4}, {"batch-size vs samples", 4},
      {"lm loss", 2.5f},       {"lm loss vs samples", 2.5f},       {"loss-scale", 1}, {"loss-scale vs samples", 1}};
  EXPECT_EQ(scalars_of(board.path()), least);
  for (const Given& more : std::vector<Given>{{"skipped_samples", 8},
                                              {"losses", 1.5, "aux loss"},
                                              {"grad_norm", 0.25},
                                              {"num_zeros", 6},
                                              {"params_norm", 7},
                                              {"optimizer_states", 8, "momentum"},
                                              {"optimizer_states", 9, "variance"},
                                              {"throughput", 1.5},
                                              {"mfu", 0.5}})
    given.push_back(more);
  board.take(record_of(given));
  board.take_evaluation({.where = "", .losses = {{"lm loss", 0.5}}, .set = "-wiki"});
  board.take_evaluation({.where = "", .losses = {{"lm loss", 0.5}}, .record = false});
  board.finish();
  Scalars all = scalars_of(board.path());
  all.erase(all.begin(), all.begin() + 8);
  const Scalars most{{"learning-rate", 0.5f},
                     {"learning-rate vs samples", 0.5f},
                     {"skipped-train-samples", 8},
                     {"batch-size", 4},
                     {"batch-size vs samples", 4},
                     {"lm loss", 2.5f},
                     {"lm loss vs samples", 2.5f},
                     {"aux loss", 1.5f},
                     {"aux loss vs samples", 1.5f},
                     {"loss-scale", 1},
                     {"loss-scale vs samples", 1},
                     {"grad-norm", 0.25f},
                     {"grad-norm vs samples", 0.25f},
                     {"num-zeros", 6},
                     {"num-zeros vs samples", 6},
                     {"params-norm", 7},
                     {"params-norm vs samples", 7},
                     {"optimizer/momentum_l2", 8},
                     {"optimizer/variance_l2", 9},
                     {"iteration-time", 0.5f},
                     {"throughput", 1.5f},
                     {"lm loss validation-wiki", 0.5f},
                     {"lm loss validation-wiki vs samples", 0.5f}};
  EXPECT_EQ(all, most);
}

// Curves per iteration are written at their interval. Curves per log interval are written at its end.
TEST(TensorBoard, tells_the_iteration_from_the_interval) {
  const TempFolder folder("tensorboard_interval");
  TensorBoard board(folder.path, 2, {.hostname = "h", .pid = 1, .now = [] { return 5.0; }});
  for (i64 iteration : {1, 2, 3}) {
    Record r = record_of({{"grad_norm", double(iteration)}, {"iteration_time", 0.5}});
    r.iteration = iteration, r.ends_interval = iteration == 3;
    for (MetricValue& v : r.values) v.interval = 10 * v.now;
    board.take(r);
  }
  const Scalars all{{"grad-norm", 2}, {"grad-norm vs samples", 2}, {"iteration-time", 5}};
  EXPECT_EQ(scalars_of(board.path()), all);
}

// Megatron writes these curves only with further flags.
TEST(TensorBoard, further_curves_come_with_their_flags) {
  for (const bool on : {false, true}) {
    const TempFolder folder("tensorboard_flags");
    double now = 5;
    TensorBoard board(folder.path, 1, {.hostname = "h", .pid = 1, .now = [&] { return now; }},
                      {.timers = on, .perplexity = on});
    Record r = record_of({{"world_size", 8}, {"memory_peak", 64}, {"iteration_time_deviation", 0.5}});
    board.take(r);
    board.leave(Away::evaluating);
    board.take_evaluation({.where = "", .losses = {{"lm loss", 30}}});
    now += 2;
    board.come_back();
    board.finish();
    Scalars all{{"world-size", 8},
                {"world-size vs samples", 8},
                {"mem-max-allocated-bytes", 64},
                {"iteration-time-deviation", 0.5f},
                {"lm loss validation", 30},
                {"lm loss validation vs samples", 30}};
    const float most = float(std::exp(20));
    if (on)
      for (const auto& more :
           Scalars{{"lm loss validation ppl", most}, {"lm loss validation ppl vs samples", most}, {"evaluate-time", 2}})
        all.push_back(more);
    EXPECT_EQ(scalars_of(board.path()), all) << on;
  }
}

TEST(TensorBoard, has_the_arguments_as_texts) {
  const TempFolder folder("tensorboard_arguments");
  TensorBoard board(folder.path, 1, {.hostname = "h", .pid = 1, .now = [] { return 5.0; }});
  board.write_arguments(options_of(std::string(kSmallRun) + "--vocab-size 101"), 7);
  board.finish();
  const std::string all = read_file(board.path());
  for (const auto& [name, value] : {std::pair("lr", "0.001"), {"mock_data", "True"}, {"num_layers", "2"}}) {
    const size_t at = all.find(std::string(name) + "/text_summary");
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_LT(all.find(value, at), at + 80) << name;
  }
}

TEST(TensorBoard, says_why_it_cannot_write) {
  const TempFolder folder("tensorboard_error");
  write_file(folder.path / "file", "");
  try {
    TensorBoardWriter w(folder.path / "file" / "runs");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("file/runs"), std::string::npos) << e.what();
  }
}

}  // namespace megalith
