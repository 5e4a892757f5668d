// Runs a small training job and returns all its output, without parts that differ between runs.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <vector>

#include "files.h"
#include "options_helpers.h"
#include "train/pretrain.h"

namespace megalith {

// Removes lines with measurements of time or memory.
inline std::string timeless(std::string text) {
  for (const char* pattern :
       {R"( \[\d{4}-[^\]]*\])", R"(elapsed time per iteration \(ms\): [0-9.]+)", R"(throughput per GPU [^|]*\|)",
        R"(tokens per second[^|]*\|)", R"(data wait [^|]*\|)",
        R"re("(iteration_ms(_deviation)?|samples_per_second|tokens_per_second|data_wait_ms|tflops|mfu|time)":[^,}]*)re",
        R"(memory: [^\n]*)", R"(goodput [^\n]*)", R"(memory +it needs [^\n]*)", R"(  this rank (wrote|read) [^\n]*)",
        R"(  (process and libraries|context and libraries|start|total|beside it, of the host's) [^\n]*)"})
    text = std::regex_replace(text, std::regex(pattern), "");
  return text;
}

// Removes the reasons for skipped steps, which only some devices report.
inline std::string causeless(std::string text) {
  text = std::regex_replace(text, std::regex(R"((\(\d+ in a row\)): [^\n]*)"), "$1");
  return std::regex_replace(text, std::regex(R"((are skipped|no step can count) \(.*\)([,:] the run ends))"), "$1$2");
}

// The values of a key in a metrics file; "null" is 0.
inline std::vector<double> values_of(const std::string& metrics, const std::string& key) {
  std::vector<double> out;
  const std::string mark = "\"" + key + "\":";
  for (size_t at = metrics.find(mark); at != metrics.npos; at = metrics.find(mark, at + 1))
    out.push_back(std::atof(metrics.c_str() + at + mark.size()));
  return out;
}

struct Told {
  std::string out, err, metrics, checkpoint, error;
  std::string timed;  // the metrics file, with times
};

inline Told run(const std::string& flags, const Backend& backend) {
  const TempFolder folder("late");  // the path is among the arguments, so both runs must have the same
  const std::string dir = folder.path.string();
  Options options = read_line(std::string(kSmallRun) + "--vocab-size 101 --no-progress --log-interval 2 --save " + dir +
                              "/ck --metrics-file " + dir + "/metrics.jsonl " + flags);
  options.data.eod = 100, options.data.seq_length = 32, options.data.vocab_size = 101;
  finish_options(options);
  Told told;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    pretrain(options, backend, *join(Place{}));
  } catch (const Error& e) {
    told.error = causeless(e.what());
  }
  told.out = timeless(testing::internal::GetCapturedStdout());
  told.err = causeless(testing::internal::GetCapturedStderr());
  told.timed = read_file(dir + "/metrics.jsonl");
  told.metrics = timeless(told.timed);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir + "/ck"))
    if (entry.is_regular_file() && entry.path().filename() != "goodput.jsonl" &&
        entry.path().filename() != "ranks.jsonl" && entry.path().parent_path().filename() != "incidents")
      files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) told.checkpoint += file.string() + "\n" + read_file(file);
  return told;
}

}  // namespace megalith
