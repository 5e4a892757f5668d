#include "cli/plan_check.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/parse_json.h"
#include "base/pattern.h"
#include "cli/own_flags.h"
#include "device/make_backend.h"
#include "planner/step_time.h"
#include "step/pipeline.h"

namespace megalith {

namespace fs = std::filesystem;

namespace {

struct CheckFlags {
  std::string check, hardware, metrics_file;
};
void list_fields(CheckFlags& c, config::FieldList& f) {
  f.group("Check of a plan");
  f.add("check", c.check, "Directory that a run saved to: its arguments and checkpoints.").shown_as("RUN_DIR");
  f.add("hardware", c.hardware, "Facts for the prediction; default: those of this machine's device.").shown_as("NAME");
  f.add("metrics-file", c.metrics_file,
        "Its metrics; default: the run's --metrics-file, or metrics.jsonl in the directory.")
      .shown_as("FILE");
}

// "['a', 'b']" or "[1, 2]" as words.
std::vector<std::string> words_of_list(const std::string& text) {
  std::vector<std::string> out;
  for (const Groups& word : find_each(text, R"('([^']*)'|([^\[\], ']+))"))
    out.push_back(*(word[1] ? word[1] : word[2]));
  return out;
}

void set_field(config::Field& field, const std::string& text, const std::string& where) {
  if (field.is_list()) return field.set(words_of_list(text), where);
  if (std::holds_alternative<std::string*>(field.ref)) return field.set({text == "None" ? "" : text}, where);
  if (std::holds_alternative<std::optional<double>*>(field.ref) && text == "None") return field.set({}, where);
  if (field.is_switch()) return field.set({text == "True" ? "true" : "false"}, where);
  field.set({text}, where);
}

// The newest file of arguments in the directory.
std::string arguments_in(const std::string& dir) {
  std::string newest;
  check(fs::is_directory(dir), "{}: no such directory: give one that a run saved to", dir);
  for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("arguments_") && name.ends_with(".txt")) newest = std::max(newest, entry.path().string());
  }
  check(!newest.empty(), "{}: there is no arguments_*.txt: give the directory that a run saved to", dir);
  return newest;
}

std::string metrics_of(const CheckFlags& c, const Options& o) {
  if (!c.metrics_file.empty()) return c.metrics_file;
  const std::string beside = c.check + "/metrics.jsonl";
  return fs::exists(beside) || o.train.metrics_file.empty() ? beside : o.train.metrics_file;
}

// Bytes B of the last "memory: planned A MiB, used B MiB" in the logs there. 0: none.
double used_bytes(const std::string& dir) {
  constexpr const char* kLine = R"(memory[^\n]*planned [0-9.]+ MiB, used ([0-9.]+) MiB)";
  double out = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
    const std::string ext = entry.path().extension();
    if (ext != ".log" && ext != ".out") continue;
    std::ifstream in(entry.path());
    for (std::string text; std::getline(in, text);)
      if (text.find("planned") != text.npos)
        if (const Groups found = find_first(text, kLine); !found.empty()) out = std::stod(*found[1]) * (1 << 20);
  }
  return out;
}

// Relative to the measured value.
std::string off_by(double planned, double measured) { return fmt::format("{:+.2f}%", 100 * (planned / measured - 1)); }

}  // namespace

void read_arguments(Options& o, const std::string& path) {
  config::FieldList fields = config::fields_of(o);
  std::ifstream in(path);
  int known = 0;
  for (std::string text; std::getline(in, text);) {
    const size_t begin = text.find_first_not_of(' '), dots = text.find(" .", begin), end = text.find(". ", dots);
    if (begin == text.npos || dots == text.npos || end == text.npos) continue;
    std::string name = text.substr(begin, dots - begin);
    std::ranges::replace(name, '_', '-');
    config::Field* field = fields.find(name);
    if (!field) continue;
    set_field(*field, text.substr(end + 2), path + ": " + name);
    ++known;
  }
  constexpr int kLeast = 20;
  check(known >= kLeast, "{}: no file of a run's arguments: give the directory that a run saved to", path);
}

MeasuredSteps measured_steps(const std::string& path) {
  std::ifstream in(path);
  check(bool(in), "{}: can't be read: name the run's metrics with --metrics-file", path);
  std::vector<double> ms;
  int number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    const auto line = parse_json<nlohmann::json>(text);
    check(line.is_object(), "{} line {}: this is not a line of metrics", path, number);
    const auto took = line.find("iteration_ms");
    if (took != line.end() && took->is_number() && took->get<double>() > 0) ms.push_back(took->get<double>());
  }
  check(!ms.empty(), "{}: no line has iteration_ms: name the metrics of a training run", path);
  if (ms.size() > 2) ms.erase(ms.begin(), ms.begin() + i64(ms.size() / 2));
  std::ranges::sort(ms);
  return {ms[ms.size() / 2] / 1e3, int(ms.size())};
}

PredictedStep predicted_step(const std::string& dir, const std::string& hardware, Options& o) {
  read_arguments(o, arguments_in(dir));
  o.data.vocab_size = o.model.vocab_size, o.data.seq_length = o.model.seq_length;
  o.train.dry_run = true, o.train.load.clear();
  if (!hardware.empty()) o.train.device.device = hardware;
  settle_drivers();
  const std::unique_ptr<Backend> backend = make_backend(o.train.device);
  StagePlans plans(o, *backend);
  backend->connect(plans.at(0).plan, Coord{}, links_of(plans.at(0), Coord{}));
  const StepClock by = clock_of(*backend);
  check(bool(by.clock), "there are no facts of {}: name some with --hardware", backend->device_name());
  return {step_time(plans, *by.clock).seconds, double(fullest_stage(plans, false).need.total()), by.source};
}

bool asks_for_check(int argc, const char* const* argv) {
  return std::any_of(argv + std::min(argc, 1), argv + argc, [](const char* word) {
    return std::string_view(word) == "--check" || std::string_view(word).starts_with("--check=");
  });
}

int command_plan_check(int argc, const char* const* argv) {
  CheckFlags c;
  if (!read_flags(c, argc, argv)) return 0;
  Options o;
  const PredictedStep predicted = predicted_step(c.check, c.hardware, o);
  const MeasuredSteps steps = measured_steps(metrics_of(c, o));
  const double bytes = predicted.bytes, used = used_bytes(c.check);
  log::say("{} ranks, {}", o.parallel.world_size, predicted.source);
  log::say("a step: {:.6g} s predicted, {:.6g} s measured (the median of {} lines): {}", predicted.seconds,
           steps.seconds, steps.lines, off_by(predicted.seconds, steps.seconds));
  if (used > 0)
    log::say("memory of the fullest rank: {:.1f} MiB planned, {:.1f} MiB used: {}", bytes / (1 << 20), used / (1 << 20),
             off_by(bytes, used));
  else
    log::say("memory of the fullest rank: {:.1f} MiB planned; what was used is in no *.log of the directory",
             bytes / (1 << 20));
  return 0;
}

}  // namespace megalith
