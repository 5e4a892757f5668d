#include "tests/parallel/jobs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/check.h"
#include "exec/cpu/backend.h"
#include "settings/schedules.h"
#include "tests/parallel/flags.h"
#include "tests/parallel/part.h"
#include "tests/parallel/watched.h"
#include "train/open_run.h"
#include "train/pretrain.h"
#include "train/training_run.h"

namespace megalith::parity {
namespace {

using nlohmann::json;

struct Seat {
  int job, first;
};

// Places jobs on ranks in rows, the largest jobs first. Every rank runs its jobs in the same order, so no two jobs wait
// for each other.
std::vector<Seat> seats(const std::vector<Job>& jobs, int ranks) {
  std::vector<int> order(jobs.size()), free_from(size_t(ranks), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return jobs[size_t(a)].size > jobs[size_t(b)].size; });
  std::vector<Seat> out;
  int next = 0;
  for (const int j : order) {
    const int size = jobs[size_t(j)].size;
    check(size <= ranks, "{} takes {} ranks of {}", jobs[size_t(j)].name, size, ranks);
    if (next + size > ranks) next = 0;
    out.push_back({j, next}), next += size;
  }
  return out;
}

json read_metrics(const std::string& path) {
  json losses = json::array(), norms = json::array(), validation = json::array(), terms = json::object();
  json scales = json::array(), skipped = json::array();
  std::ifstream in(path);
  for (std::string text; std::getline(in, text);) {
    const json line = json::parse(text);
    if (line.contains("lm_loss")) losses.push_back(line["lm_loss"]), norms.push_back(line["grad_norm"]);
    if (line.contains("loss_scale"))
      scales.push_back(line["loss_scale"]), skipped.push_back(line["skipped_iterations"]);
    if (line.contains("validation_loss")) validation.push_back(line["validation_loss"]);
    for (const auto& [name, value] : line.items())
      if (name.ends_with("_loss") && name != "lm_loss" && name != "validation_loss") terms[name].push_back(value);
  }
  return {{"losses", losses}, {"norms", norms},   {"validation", validation},
          {"terms", terms},   {"scales", scales}, {"skipped", skipped}};
}

// The planned steps of jobs that share them, by Job::plan and pipeline stage.
using Plans = std::map<std::pair<std::string, int>, PlannedStep>;

// A training run whose step is planned only if `plans` does not have it.
void train_as_planned(const Job& job, const Options& o, const Backend& backend, Ranks& ranks, Plans& plans) {
  const int stage = stage_of(o, ranks);
  const auto [at, is_new] = plans.try_emplace({job.plan, stage});
  if (is_new) at->second = plan_step(step_spec(o, stage), backend);
  PreparedRun prepared{.step = std::make_unique<PlannedStep>(at->second)};
  TrainingRun(o, backend, ranks, open_run(o, backend, ranks, {}, std::move(prepared))).train();
}

// Runs this rank's part of a job. Returns its state hash and seconds; the job's rank 0 adds the metrics.
json run_job(Ranks& ranks, const Job& job, int first, const std::string& metrics, Plans& plans) {
  const auto began = std::chrono::steady_clock::now();
  Part part(ranks, first, job.size);
  Watch watch{.fault = job.fault};
  const auto backend = watched(make_cpu_backend(&part), watch);
  const Options options = options_of(job.flags + " --metrics-file " + metrics, job.size);
  if (!job.plan.empty())
    train_as_planned(job, options, *backend, part, plans);
  else
    pretrain(options, *backend, part);
  check(job.fault.empty() || part.rank() > 0 || watch.left_out > 0, "{}: the plan has no {}", job.name, job.fault);
  json out = part.rank() == 0 ? read_metrics(metrics) : json::object();
  out["state"] = watch.state;
  out["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return out;
}

std::vector<double> numbers(const json& list) {
  std::vector<double> out;
  for (const json& x : list) out.push_back(x.is_number() ? x.get<double>() : std::nan(""));
  return out;
}

double farthest(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size() || a.empty()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]) / std::abs(b[i]);
    most = std::isfinite(d) ? std::max(most, d) : std::numeric_limits<double>::infinity();
  }
  return most;
}

}  // namespace

std::vector<Outcome> run_jobs(Ranks& ranks, const std::vector<Job>& jobs, const std::string& folder) {
  static int calls = 0;
  ++calls;
  json mine = json::object();
  Plans plans;
  for (const Seat& s : seats(jobs, ranks.size())) {
    const Job& job = jobs[size_t(s.job)];
    if (ranks.rank() < s.first || ranks.rank() >= s.first + job.size) continue;
    try {
      mine[std::to_string(s.job)] =
          run_job(ranks, job, s.first, fmt::format("{}/metrics-{}-{}.jsonl", folder, calls, s.job), plans);
    } catch (const Error& e) {
      fail("{}: {}", job.name, e.what());
    }
  }
  std::vector<Outcome> out(jobs.size());
  for (const std::string& text : ranks.all_gather(mine.dump())) {
    const json told = json::parse(text);
    for (const auto& [job, part] : told.items()) {
      Outcome& o = out[size_t(std::stoi(job))];
      o.state.push_back(part["state"].get<u64>());
      if (!part.contains("losses")) continue;
      o.losses = numbers(part["losses"]), o.norms = numbers(part["norms"]);
      o.scales = numbers(part["scales"]), o.skipped = numbers(part["skipped"]);
      o.validation = numbers(part["validation"]), o.seconds = part["seconds"];
      for (const auto& [name, values] : part["terms"].items()) o.terms[name] = numbers(values);
    }
  }
  return out;
}

double Distance::worst() const { return std::max({loss, terms, norm, validation}); }

Distance distance(const Outcome& a, const Outcome& b) {
  double terms = a.terms.size() == b.terms.size() ? 0 : std::numeric_limits<double>::infinity();
  for (const auto& [name, values] : a.terms)
    terms = std::max(
        terms, b.terms.contains(name) ? farthest(values, b.terms.at(name)) : std::numeric_limits<double>::infinity());
  return {farthest(a.losses, b.losses), terms, farthest(a.norms, b.norms), farthest(a.validation, b.validation)};
}

}  // namespace megalith::parity
