// Rules about where a run's metrics go.
#include <algorithm>

#include "base/check.h"
#include "settings/compatibility.h"

namespace megalith {

namespace {

// Prometheus's rule for names of labels; names that begin with __ are reserved.
bool is_label(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) && !name.starts_with("__") &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// Labels that some series have themselves. `le` is Prometheus's own.
bool is_of_a_series(const std::string& name) {
  constexpr const char* kNames[] = {"job_name", "run_id", "rank",   "le",    "data_parallel_rank",
                                    "host",     "phase",  "state",  "stage", "category",
                                    "kind",     "layer",  "reason", "set",   "dtype",
                                    "tp",       "pp",     "cp",     "dp",    "ep",
                                    "version",  "git",    "cuda",   "nccl"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

using Topic = Rule::Topic;
using Action = Rule::Action;

std::string endpoint_port(const Options& o) {
  const i64 port = o.train.observe.prometheus_port;
  if (port >= -1 && port <= 65535) return {};
  return fmt::format("--prometheus-port {} is out of range: give 1 to 65535, or 0 for a free one", port);
}

std::string endpoint_labels(const Options& o) {
  try {
    labels_of(o.train.observe.prometheus_labels);
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

std::string endpoint_flags(const Options& o) {
  if (o.train.observe.prometheus_port >= 0) return {};
  for (const char* field : {"prometheus-address", "prometheus-labels", "prometheus-all-ranks"})
    if (o.given.has(field)) return fmt::format("--{} has no effect without --prometheus-port", field);
  return {};
}

std::string wandb_flags(const Options& o) {
  if (!o.train.observe.wandb_project.empty()) return {};
  for (const char* field : {"wandb-exp-name", "wandb-entity", "wandb-save-dir"})
    if (o.given.has(field)) return fmt::format("--{} has no effect without --wandb-project", field);
  return {};
}

std::string curve_flags(const Options& o) {
  if (!o.train.tensorboard_dir.empty() || !o.train.observe.wandb_project.empty()) return {};
  for (const char* field : {"log-timers-to-tensorboard", "log-memory-to-tensorboard",
                            "log-validation-ppl-to-tensorboard", "log-world-size-to-tensorboard"})
    if (o.given.has(field))
      return fmt::format("--{} has no effect without --tensorboard-dir or --wandb-project", field);
  return {};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> labels_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> labels;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string pair = text.substr(at, end - at), name = pair.substr(0, pair.find('='));
    check(pair.find('=') != std::string::npos && is_label(name),
          "--prometheus-labels {}: '{}' is no label: give NAME=VALUE, with letters, digits and _ in the name", text,
          pair);
    const bool taken =
        is_of_a_series(name) || std::ranges::any_of(labels, [&](const auto& l) { return l.first == name; });
    check(!taken, "--prometheus-labels {}: the label {} is there already: give it another name", text, name);
    labels.emplace_back(name, pair.substr(name.size() + 1));
    at = end + 1;
  }
  return labels;
}

std::vector<Rule> observe_rules() {
  return {
      {"prometheus-port is a port", Topic::run, Action::refuse, endpoint_port},
      {"prometheus-labels are names and values", Topic::run, Action::refuse, endpoint_labels},
      {"flags about the endpoint come with prometheus-port", Topic::run, Action::warn, endpoint_flags},
      {"flags about W&B come with wandb-project", Topic::run, Action::warn, wandb_flags},
      {"flags about curves come with a place for them", Topic::run, Action::warn, curve_flags},
  };
}

}  // namespace megalith
