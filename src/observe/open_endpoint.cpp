// The address of a rank's endpoint, and the labels of its series.
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/log.h"
#include "observe/endpoint.h"

namespace megalith {

std::string name_of_run(const Options& o) {
  if (!o.train.observe.run_name.empty()) return o.train.observe.run_name;
  if (const char* job = std::getenv("SLURM_JOB_NAME"); job && *job) return job;
  std::filesystem::path save = std::filesystem::path(o.train.save).lexically_normal();
  if (!save.has_filename()) save = save.parent_path();
  return save.has_filename() && save.filename() != "." ? save.filename().string() : "megalith";
}

// A unique name of this process: start time and process id.
static std::string id_of_run() {
  char text[32] = {};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::strftime(text, sizeof text, "%Y%m%d_%H%M%S", gmtime_r(&now, &utc));
  return fmt::format("{}-{}", text, getpid());
}

std::unique_ptr<Endpoint> open_endpoint(const Options& o, const Place& place) {
  const ObserveConfig& c = o.train.observe;
  if (c.prometheus_port < 0 || (place.rank != 0 && !c.prometheus_all_ranks)) return nullptr;
  Labels labels{{"job_name", name_of_run(o)}, {"run_id", id_of_run()}};
  for (const auto& label : labels_of(c.prometheus_labels)) labels.push_back(label);
  i64 port = c.prometheus_port;
  if (c.prometheus_all_ranks) {
    labels.emplace_back("rank", std::to_string(place.rank));
    if (port > 0) port += place.local_rank;
    check(port <= 65535, "--prometheus-port {} --prometheus-all-ranks: rank {} would have port {}: give a lower one",
          c.prometheus_port, place.rank, port);
  }
  auto endpoint = listen_at({c.prometheus_address, int(port), std::move(labels)});
  log::say("> Prometheus: http://{}:{}/metrics{}", c.prometheus_address, endpoint->port(),
           c.prometheus_all_ranks && place.size > 1 ? ", and one on each rank" : "");
  return endpoint;
}

}  // namespace megalith
