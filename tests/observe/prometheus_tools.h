// Finds Prometheus and promtool in $MEGALITH_PROMETHEUS, in the folder of scripts/install-prometheus, or in PATH.
#pragma once
#include <sys/types.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "observe/endpoint.h"

namespace megalith {

std::string prometheus_tool(const std::string& name);  // its path; empty: not found

struct ToolRan {
  int status = -1;
  std::string text;
};
// Runs a shell command. Returns its stdout and stderr.
ToolRan run_shell(const std::string& command);

// A process that the destructor kills.
class Started {
 public:
  Started(const std::vector<std::string>& words, const std::string& log);
  ~Started();
  Started(const Started&) = delete;

 private:
  pid_t pid_ = -1;
};

int free_port();

// An endpoint of a run on a free port of this host; nullptr in a build without prometheus-cpp.
std::unique_ptr<Endpoint> endpoint_of_a_run();

// A Prometheus that scrapes an endpoint each second and evaluates these rules. `dir` has its files.
class LivePrometheus {
 public:
  LivePrometheus(const std::string& program, const std::string& dir, const std::string& rules, int scraped_port);
  int port() const { return port_; }
  std::string log() const;

 private:
  const std::string dir_;
  const int port_ = free_port();
  std::optional<Started> server_;
};

// The names of the alerts of a live Prometheus that are in this state, such as "firing".
std::set<std::string> alerts(int port, const std::string& state);

// Replaces the hours in rules by seconds.
std::string shortened(std::string rules);

}  // namespace megalith
