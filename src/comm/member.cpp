#include "comm/member.h"

#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string_view>

#include "base/check.h"

namespace megalith {
namespace {

// Containers of one host may have separate networks and process numbers: Linux names these worlds by links.
std::string world(const char* kind) {
  char link[PATH_MAX];
  const ssize_t n = readlink(fmt::format("/proc/self/ns/{}", kind).c_str(), link, sizeof link);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot + "/" + (n > 0 ? std::string(link, size_t(n)) : "?");
}

}  // namespace

std::string Member::text() const { return fmt::format("{} {} {} {} {}", rank, pid, network, processes, host); }

Member Member::from_text(const std::string& text) {
  Member m;
  std::istringstream in(text);
  check(bool(in >> m.rank >> m.pid >> m.network >> m.processes >> m.host), "'{}' describes no rank", text);
  return m;
}

Member Member::self(int rank) {
  char host[HOST_NAME_MAX + 1] = "";
  if (gethostname(host, sizeof host) != 0 || !host[0]) host[0] = '?';
  return {.rank = rank, .host = host, .pid = getpid(), .network = world("net"), .processes = world("pid")};
}

std::string name_of(const Member& m) { return fmt::format("rank {} (pid {} on {})", m.rank, m.pid, m.host); }

bool runs_near(const Member& m, const Member& self) {
  if (m.processes != self.processes) return false;
  std::string stat;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", m.pid)), stat);
  const size_t name_end = stat.rfind(") ");  // "PID (NAME) STATE ..."
  return name_end != std::string::npos && name_end + 2 < stat.size() &&
         std::string_view("RSDI").find(stat[name_end + 2]) != std::string_view::npos;
}

void kill_if_near(const Member& culprit, const Member& self) {
  if (culprit.processes == self.processes && culprit.pid > 1 && culprit.pid != self.pid)
    kill(pid_t(culprit.pid), SIGKILL);
}

}  // namespace megalith
