// Arenas of malloc that threads share.
#include "base/process_memory.h"

#include <gtest/gtest.h>
#include <malloc.h>
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

// 7 threads hold memory at the same time. Then the process ends: its exit status is its number of arenas.
[[noreturn]] void end_with_arenas_of_threads(bool share) {
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

// Each statement runs in a program of its own: a child of this process would have the arenas of earlier tests.
TEST(ProcessMemory, SevenThreadsShareOneArena) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const testing::ExitedWithCode one_for_each_thread_and_the_first(8), one(1);
  EXPECT_EXIT(end_with_arenas_of_threads(false), one_for_each_thread_and_the_first, "");
  EXPECT_EXIT(end_with_arenas_of_threads(true), one, "");
}

}  // namespace
}  // namespace megalith
