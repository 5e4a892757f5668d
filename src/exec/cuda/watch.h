// Ends this rank if its GPU waits for other ranks without progress, and names the transfer. The host is far ahead of
// the GPU, and whole steps are single launches. So the GPU itself writes to host memory when each transfer begins and
// ends. A thread reads that without a call to the driver.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/ranks.h"
#include "exec/cuda/comms.h"
#include "exec/cuda/mark.h"

namespace megalith::cuda {

struct WatchOptions {
  double timeout_seconds = 600;  // limit without any progress while there is work
  double poll_seconds = 0.25;
  // The reaction, with the line to print. By default it prints the line, and all ranks end.
  std::function<void(const std::string&)> give_up = {};
};

class Watch {
 public:
  Watch(Ranks& ranks, Comms& comms, WatchOptions options);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The number of a transfer, for begin() and end(). "all_reduce over tp_kv tp_rep, layer 3 attention, ranks 0 1".
  int add(std::string what);
  // `time`: if the stream is the compute stream and its own time is kept.
  void begin(int transfer, cudaStream_t stream, OwnTime* time = nullptr);
  void end(int transfer, cudaStream_t stream, OwnTime* time = nullptr);
  // Enclose the work of one run of a program.
  void begin_run(const std::string& program);
  void end_run(cudaStream_t stream, OwnTime* time = nullptr);

 private:
  static constexpr int kMost = 1 << 18;  // maximum number of transfers
  void look();
  std::string under_way() const;  // with names_mutex_ held

  Ranks& ranks_;
  Comms& comms_;
  WatchOptions options_;
  u32* words_ = nullptr;  // pinned: the number of runs that ended; then for each transfer whether it is under way
  std::atomic<u32> runs_ = 0;
  mutable std::mutex names_mutex_;
  std::vector<std::string> names_;  // by transfer, from 1 on
  std::string program_;             // the last one that began
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace megalith::cuda
