#include "prometheus_tools.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <sstream>

#include "base/check.h"
#include "http.h"
#include "tests/train/files.h"

namespace megalith {

std::string prometheus_tool(const std::string& name) {
  const auto variable = [](const char* v) { return std::string(std::getenv(v) ? std::getenv(v) : ""); };
  std::istringstream folders(variable("MEGALITH_PROMETHEUS") + ":" + variable("HOME") +
                             "/.cache/megalith/prometheus/usr/bin:" + variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return {};
}

ToolRan run_shell(const std::string& command) {
  ToolRan ran;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char part[4096];
  while (const size_t n = fread(part, 1, sizeof part, pipe)) ran.text.append(part, n);
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

Started::Started(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT, 0666);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  EXPECT_EQ(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
}

Started::~Started() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

int free_port() { return TakenPort().port(); }

std::unique_ptr<Endpoint> endpoint_of_a_run() {
  try {
    return listen_at({"127.0.0.1", 0, {{"job_name", "a"}, {"run_id", "1"}}});
  } catch (const Error& e) {
    if (std::string(e.what()).find("built without prometheus-cpp") == std::string::npos) throw;
    return nullptr;
  }
}

LivePrometheus::LivePrometheus(const std::string& program, const std::string& dir, const std::string& rules,
                               int scraped_port)
    : dir_(dir) {
  write_file(dir + "/rules.yml", rules);
  write_file(dir + "/prometheus.yml",
             fmt::format("global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [rules.yml]\n"
                         "scrape_configs:\n- {{job_name: megalith, static_configs: [{{targets: ['127.0.0.1:{}']}}]}}\n",
                         scraped_port));
  server_.emplace(
      std::vector<std::string>{program, "--config.file=" + dir + "/prometheus.yml",
                               "--storage.tsdb.path=" + dir + "/data",
                               "--web.listen-address=127.0.0.1:" + std::to_string(port_), "--log.level=warn"},
      dir + "/log");
}

std::string LivePrometheus::log() const { return read_file(dir_ + "/log"); }

std::set<std::string> alerts(int port, const std::string& state) {
  const std::string answer = http_get(port, "/api/v1/query?query=ALERTS");
  std::set<std::string> names;
  const std::regex alert(R"re("alertname":"(\w+)","alertstate":"(\w+)")re");
  for (std::sregex_iterator it(answer.begin(), answer.end(), alert), end; it != end; ++it)
    if ((*it)[2] == state) names.insert((*it)[1]);
  return names;
}

std::string shortened(std::string rules) {
  for (const auto& [from, to] : {std::pair(R"(\[1h\] offset 30m)", "[8s] offset 4s"),
                                 {R"(\[(5|10)m\])", "[3s]"},
                                 {R"(for: \d+m)", "for: 1s"},
                                 {R"(interval: 60s)", "interval: 1s"}})
    rules = std::regex_replace(rules, std::regex(from), to);
  return rules;
}

}  // namespace megalith
