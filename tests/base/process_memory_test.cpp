// Arenas of malloc that threads share.
#include "base/process_memory.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace megalith {
namespace {

int count_arenas() {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  malloc_info(0, out);
  std::fclose(out);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  const std::string info(text, size), mark = "<heap nr=";
  int arenas = 0;
  for (auto at = info.find(mark); at != std::string::npos; at = info.find(mark, at + 1)) ++arenas;
  return arenas;
}

// The exit status of a child process whose 7 threads hold memory at the same time: its number of arenas.
int arenas_of_threads(bool share) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr int kThreads = 7;
    if (share) settle_malloc(kThreads);
    std::latch all(kThreads);
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&] {
        const std::vector<char> held(100'000, 1);
        all.arrive_and_wait();
      });
    threads.clear();
    _exit(count_arenas());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessMemory, SevenThreadsShareOneArena) {
  EXPECT_EQ(arenas_of_threads(false), 8) << "the main thread's, and one for each thread";
  EXPECT_EQ(arenas_of_threads(true), 1);
}

}  // namespace
}  // namespace megalith
