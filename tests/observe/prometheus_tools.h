// Prometheus and promtool, where this machine has them: in $MEGALITH_PROMETHEUS, scripts/install-prometheus's folder,
// or in PATH.
#pragma once
#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace megalith {

std::string prometheus_tool(const std::string& name);  // its path; "": not there

struct ToolRan {
  int status = -1;
  std::string text;
};
// Runs a command of the shell; both outputs.
ToolRan run_shell(const std::string& command);

// A process that ends with this.
class Started {
 public:
  Started(const std::vector<std::string>& words, const std::string& log);
  ~Started();
  Started(const Started&) = delete;

 private:
  pid_t pid_ = -1;
};

int free_port();

// The names of a live Prometheus's alerts in a state: "firing".
std::set<std::string> alerts(int port, const std::string& state);

// Rules whose hours are seconds.
std::string shortened(std::string rules);

}  // namespace megalith
