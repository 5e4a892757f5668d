#include "prometheus_tools.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

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

}  // namespace megalith
