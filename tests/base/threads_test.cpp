#include "base/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

using namespace megalith;

namespace {

// Sets the number of threads while it lives.
struct Threads {
  int before = omp_get_max_threads();
  explicit Threads(int n) { omp_set_num_threads(n); }
  ~Threads() { omp_set_num_threads(before); }
};

bool each_once(i64 parts) {
  std::vector<std::atomic<int>> times(static_cast<size_t>(parts));
  run_parts(parts, [&](i64 i) { ++times[size_t(i)]; });
  return std::ranges::all_of(times, [](const auto& n) { return n == 1; });
}

}  // namespace

TEST(Threads, EachPartIsDoneOnceHoweverShortItIs) {
  const Threads four(4);
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(each_once(1 + i % 9)) << i;
}

TEST(Threads, CallersAtOnceHaveThreadsOfTheirOwn) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int k = 0; k < 3; ++k)
    callers.emplace_back([&] {
      const Threads three(3);
      for (int i = 0; i < 2000; ++i) wrong += !each_once(3);
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, LoopsWithinAPartAreDoneByItsThread) {
  const Threads three(3);
  std::atomic<int> elsewhere = 0, done = 0;
  run_parts(3, [&](i64) {
    const auto self = std::this_thread::get_id();
    parallel_for(10, 1, [&](i64) { ++done, elsewhere += std::this_thread::get_id() != self; });
  });
  EXPECT_EQ(done, 30);
  EXPECT_EQ(elsewhere, 0);
}

// A sleeping part stands for a thread whose core another program has: what it has not begun is done by the rest.
TEST(Threads, AThreadHeldUpHoldsUpItsOwnPartAlone) {
  const Threads two(2);
  std::atomic<int> others = 0;
  int seen = 0;
  run_parts(20, [&](i64 i) {
    if (i > 0) return void(++others);
    for (int k = 0; k < 2000 && others < 19; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    seen = others;
  });
  EXPECT_EQ(seen, 19);
}

TEST(Threads, AForkedProcessGoesOnWithoutTheThreads) {
  const Threads three(3);
  ASSERT_TRUE(each_once(3));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(each_once(7) ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Threads, TheLowestFailureOfTasksIsThrownWhenAllAreDone) {
  const Threads three(3);
  std::atomic<int> done = 0;
  try {
    parallel_tasks(9, [&](i64 i) {
      ++done;
      if (i >= 4) throw std::runtime_error(std::to_string(i));
    });
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "4");
  }
  EXPECT_EQ(done, 9);
}
