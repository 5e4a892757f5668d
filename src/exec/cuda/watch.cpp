#include "exec/cuda/watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace megalith::cuda {

using Clock = std::chrono::steady_clock;

// Ends the process even if aborting hangs, because the driver may be stuck too.
static void end_process(Ranks& ranks, Comms& comms, const std::string& line) {
  constexpr std::chrono::seconds kToAbort{2};
  if (!ranks.failed(line)) fmt::print(stderr, "megalith: {}\n", line);
  std::atomic<bool> aborted = false;
  std::thread([&] { comms.abort(), aborted = true; }).detach();
  for (const auto began = Clock::now(); !aborted && Clock::now() - began < kToAbort;)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::_Exit(1);
}

Watch::Watch(Ranks& ranks, Comms& comms, WatchOptions options)
    : ranks_(ranks), comms_(comms), options_(std::move(options)), names_(1) {
  check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&words_), sizeof(u32) * kMost, cudaHostAllocDefault),
             "allocating pinned memory");
  std::fill(words_, words_ + kMost, 0u);
  if (!options_.give_up) options_.give_up = [this](const std::string& line) { end_process(ranks_, comms_, line); };
  thread_ = std::thread([this] { look(); });
}

Watch::~Watch() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
  cudaFreeHost(words_);
}

int Watch::add(std::string what) {
  std::lock_guard lock(names_mutex_);
  check(names_.size() < kMost, "more than {} transfers in the plans of a run", kMost);
  names_.push_back(std::move(what));
  return int(names_.size()) - 1;
}

void Watch::begin(int transfer, cudaStream_t stream, OwnTime* time) {
  launch_mark(words_ + transfer, 1, stream, time, Moment::wait_begins);
}
void Watch::end(int transfer, cudaStream_t stream, OwnTime* time) {
  launch_mark(words_ + transfer, 0, stream, time, Moment::wait_ends);
}

void Watch::begin_run(const std::string& program) {
  {
    std::lock_guard lock(names_mutex_);
    program_ = program;
  }
  ++runs_;
}
void Watch::end_run(cudaStream_t stream, OwnTime* time) { launch_mark(words_, runs_, stream, time, Moment::run_ends); }

std::string Watch::under_way() const {
  constexpr int kShown = 4;
  std::string out;
  int n = 0;
  for (size_t i = 1; i < names_.size(); ++i)
    if (reinterpret_cast<volatile u32*>(words_)[i] && ++n <= kShown) out += (n > 1 ? "; " : "") + names_[i];
  if (n > kShown) out += fmt::format("; {} more", n - kShown);
  return n ? "under way: " + out : "no transfer is under way";
}

void Watch::look() {
  std::vector<u32> before;
  auto since = Clock::now();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::duration<double>(options_.poll_seconds), [&] { return ends_; })) {
    const std::string error = comms_.error();
    std::lock_guard names(names_mutex_);
    const auto* words = reinterpret_cast<volatile u32*>(words_);
    std::vector<u32> now(words, words + names_.size());
    const bool idle = now[0] == runs_ && std::find(now.begin() + 1, now.end(), 1u) == now.end();
    if (idle || now != before) since = Clock::now();
    before = std::move(now);
    const double still = std::chrono::duration<double>(Clock::now() - since).count();
    if (error.empty() && still < options_.timeout_seconds) continue;
    const std::string why = error.empty() ? fmt::format("its GPU has made no progress for {:.3g} s", still) : error;
    options_.give_up(fmt::format("rank {} of {}, program {}: {}; {}", ranks_.rank(), ranks_.size(),
                                 program_.empty() ? "none" : program_, why, under_way()));
    return;
  }
}

}  // namespace megalith::cuda
