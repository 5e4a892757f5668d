// megalith report RUN_DIR [--html FILE] [--baseline RUN_DIR] [--hardware NAME] [--dcgm FILE ...], megalith compare A B
// [--tolerance T]
#include "report/report.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/append_file.h"
#include "cli/command.h"
#include "cli/own_flags.h"
#include "cli/plan_check.h"
#include "report/compare.h"
#include "report/gpu_join.h"
#include "report/html.h"
#include "report/time_text.h"

namespace megalith {

namespace {

struct ReportFlags {
  std::string run, html, baseline, metrics, baseline_metrics, hardware, dcgm_begin;
  std::vector<std::string> dcgm;
  double dcgm_interval = 1000, dcgm_offset = 0;
};

void list_fields(ReportFlags& c, config::FieldList& f) {
  f.group("Report");
  f.add("run", c.run, "The run's --save directory; the flag's name is optional.").shown_as("RUN_DIR").also_bare();
  f.add("html", c.html, "The page to write; default: RUN_DIR/report.html.").shown_as("FILE");
  f.add("metrics", c.metrics,
        "The run's metrics file; default: the one of its --metrics-file, or RUN_DIR/metrics.jsonl.")
      .shown_as("FILE");
  f.add("baseline", c.baseline, "Another run, whose curves, flags and losses are compared.").shown_as("RUN_DIR");
  f.add("baseline-metrics", c.baseline_metrics, "The metrics file of that run.").shown_as("FILE");
  f.add("hardware", c.hardware,
        "Predict the step time by the run's plan and the facts of this device, as in --device: h100, h200, cpu or a "
        "file of facts. The page shows the prediction next to the measurement.")
      .shown_as("NAME");
  f.add("dcgm", c.dcgm,
        "Samples of GPUs, to show what they did during slow iterations: the output of dcgmi dmon, or CSV or JSON of "
        "Prometheus with metrics of dcgm-exporter. HOST is for a file without hosts.")
      .shown_as("[HOST=]FILE ...");
  f.add("dcgm-begin", c.dcgm_begin,
        "Time of the first sample of a file without times: Unix seconds or 2026-11-27T22:10:05Z. Default: the last "
        "sample is of the file's last change.")
      .shown_as("TIME");
  f.add("dcgm-interval", c.dcgm_interval, "Milliseconds between the samples of a file without times.");
  f.add("dcgm-offset", c.dcgm_offset, "Seconds that are added to the times of samples, if clocks differ.");
}

struct CompareFlags {
  std::vector<std::string> runs, metrics;
  double tolerance = 0;
};

void list_fields(CompareFlags& c, config::FieldList& f) {
  f.group("Comparison");
  f.add("runs", c.runs, "The --save directories of two runs; the flag's name is optional.").shown_as("A B");
  f.add("metrics", c.metrics, "Their metrics files; default: those of their --metrics-file, or metrics.jsonl there.")
      .shown_as("FILE FILE");
  f.add("tolerance", c.tolerance, "Allowed difference of losses; beyond it the exit status is 1.");
}

// The file that is replaced. A mistyped path must not cost another file, nor a device.
std::string place_of_page(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (!fs::exists(path, none)) return path;
  check(fs::is_regular_file(path, none), "report {}: cannot write it (it is not a regular file): choose another place",
        path);
  std::string begin(report::kPageBegin.size(), '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), std::streamsize(begin.size()));
  check(fs::file_size(path, none) == 0 || begin == report::kPageBegin,
        "report {}: cannot write it: this file is there, and is no report: choose another place", path);
  return fs::canonical(path, none).string();  // of a link: what it points to
}

// Atomically: an existing report stays until the new one is complete.
void write_page(const std::string& path, const std::string& text) {
  const std::string place = place_of_page(path), part = place + ".tmp";
  {
    std::error_code none;
    std::filesystem::remove(part, none);
    AppendFile file(part, "report");
    check(file.append(text), "report {}: it could not be written: choose another place", path);
  }
  std::error_code error;
  std::filesystem::rename(part, place, error);
  check(!error, "report {}: cannot write it ({}): choose another place", path, error.message());
}

struct GpuSource {
  std::vector<report::GpuFile> files;
  std::vector<std::string> hosts;  // host of each file, as given
};

GpuSource read_gpus(const ReportFlags& c) {
  const bool sane = c.dcgm_interval > 0 && c.dcgm_interval < 1e9;
  check(sane, "--dcgm-interval {}: give the milliseconds of dcgmi's -d", c.dcgm_interval);
  check(std::abs(c.dcgm_offset) < 1e10, "--dcgm-offset {}: give seconds", c.dcgm_offset);
  report::GpuFileTimes times{.interval = c.dcgm_interval / 1e3, .offset = c.dcgm_offset};
  if (!c.dcgm_begin.empty()) {
    times.begin = report::time_of_text(c.dcgm_begin);
    check(times.begin.has_value(), "--dcgm-begin {}: give Unix seconds, or a time like 2026-11-27T22:10:05Z",
          c.dcgm_begin);
  }
  GpuSource out;
  for (const std::string& one : c.dcgm) {
    const size_t equals = std::filesystem::exists(one) ? std::string::npos : one.find('=');
    out.hosts.push_back(equals == std::string::npos ? "" : one.substr(0, equals));
    out.files.push_back(report::read_gpu_file(equals == std::string::npos ? one : one.substr(equals + 1), times));
  }
  return out;
}

}  // namespace

int command_report(int argc, const char* const* argv) {
  ReportFlags c;
  const auto check_flags = [&](FlagChecks& checks) {
    checks.hold(!c.run.empty(), "give the --save directory of a run: megalith report RUN_DIR");
    checks.hold(c.baseline_metrics.empty() || !c.baseline.empty(), "--baseline-metrics needs --baseline");
  };
  if (!read_flags(c, argc, argv, {}, check_flags)) return 0;
  report::RunFiles run = report::read_run(c.run, c.metrics);
  if (!c.hardware.empty()) {
    Options of_run;
    const PredictedStep step = predicted_step(c.run, c.hardware, of_run);
    run.predicted = {step.seconds, step.source};
  }
  std::optional<report::RunFiles> baseline;
  if (!c.baseline.empty()) baseline = report::read_run(c.baseline, c.baseline_metrics);
  const std::string path = c.html.empty() ? (std::filesystem::path(c.run) / "report.html").string() : c.html;
  const GpuSource gpus = read_gpus(c);
  std::optional<report::GpuJoin> joined;
  if (!c.dcgm.empty()) joined = join_gpus(run, gpus.files, gpus.hosts);
  write_page(path, html_report(run, baseline ? &*baseline : nullptr, joined ? &*joined : nullptr));
  for (const std::string& note : run.notes) log::info("{}", note);
  if (joined)
    for (const std::string& note : joined->notes) log::info("{}", note);
  log::say("{}", path);
  return 0;
}

int command_compare(int argc, const char* const* argv) {
  CompareFlags c;
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && !words[0].starts_with("-"))
    words.insert(words.begin(), "--runs");  // the subcommand, which accepts both forms
  const auto check_flags = [&](FlagChecks& checks) {
    checks.hold(c.runs.size() == 2, "give the --save directories of two runs: megalith compare A B");
    checks.hold(c.metrics.empty() || c.metrics.size() == 2, "--metrics: give two files, one for each run");
    checks.hold(c.tolerance >= 0 && std::isfinite(c.tolerance), "--tolerance {}: give a number that is not negative",
                c.tolerance);
  };
  if (!read_flags(c, words, {}, check_flags)) return 0;
  const bool named = !c.metrics.empty();
  const report::RunFiles a = report::read_run(c.runs[0], named ? c.metrics[0] : "");
  const report::RunFiles b = report::read_run(c.runs[1], named ? c.metrics[1] : "");
  const report::TextComparison compared = compare_runs(a, b, c.tolerance);
  fmt::print("{}", compared.text);
  return compared.differs ? 1 : 0;
}

}  // namespace megalith
