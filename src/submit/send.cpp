#include "submit/send.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace megalith {

namespace {

// A file in memory: a program that does not read all of it can't end this one by SIGPIPE.
int memory_file(const std::string& text) {
  const int fd = memfd_create("job", MFD_CLOEXEC);
  check(fd >= 0, "memory for the job's file is missing: {}", std::strerror(errno));
  const bool whole = write(fd, text.data(), text.size()) == ssize_t(text.size()) && lseek(fd, 0, SEEK_SET) == 0;
  if (!whole) close(fd);
  check(whole, "memory for the job's file is missing: {}", std::strerror(errno));
  return fd;
}

}  // namespace

int run_with_input(const std::vector<std::string>& words, const std::string& text) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int input = memory_file(text);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(input);
  check(error == 0, "--send: {} does not start ({}): run this where it is installed, or give --out FILE", words[0],
        std::strerror(error));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace megalith
