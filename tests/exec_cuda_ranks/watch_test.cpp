// The watch over work that stands still: a host function holds the stream up in place of a rank that does not come.
#include "exec/cuda/watch.h"

#include <atomic>
#include <chrono>

#include "exec/cuda/streams.h"
#include "tests/exec_cuda_ranks/gpus.h"
#include "tests/exec_cuda_ranks/host_comms.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {

namespace {

using namespace harness;

void CUDART_CB hold(void* until) {
  while (!*static_cast<std::atomic<bool>*>(until)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

struct BadComms final : cuda::Comms {
  void connect(const std::vector<cuda::CommunicatorGroup>&) override {}
  cuda::Comm& at(const cuda::CommunicatorGroup&) override { fail("none"); }
  std::string error() override { return "ranks 0 1: broken"; }
  void abort() override {}
};

std::string line_of(Ranks& ranks, cuda::Comms& comms, const std::function<void(cuda::Watch&, cudaStream_t)>& work) {
  std::string line;
  std::atomic<bool> said = false, go_on = false;
  cuda::Device device(0, "");
  {
    cuda::Watch watch(ranks, comms,
                      {.timeout_seconds = 0.3, .poll_seconds = 0.02, .give_up = [&](const std::string& l) {
                         line = l, said = true;
                       }});
    work(watch, device.stream());
    const auto began = std::chrono::steady_clock::now();
    cuda::check_cuda(cudaLaunchHostFunc(device.stream(), hold, &go_on), "test");
    watch.end_run(device.stream());
    while (!said && std::chrono::steady_clock::now() - began < std::chrono::seconds(2))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    go_on = true;
    cuda::check_cuda(cudaStreamSynchronize(device.stream()), "test");
  }
  return line;
}

class CudaWatch : public OnGpus<1> {};

}  // namespace

TEST_F(CudaWatch, names_the_program_and_what_is_under_way) {
  run_ranks(1, [](Ranks& ranks) {
    const auto comms = make_host_comms(ranks);
    const std::string line = line_of(ranks, *comms, [](cuda::Watch& watch, cudaStream_t stream) {
      watch.begin_run("micro-batch");
      const int done = watch.add("all_gather over tp_kv, layer 1, ranks 0 1");
      const int open = watch.add("all_reduce over dp, layer 2, ranks 1 3");
      watch.begin(done, stream), watch.end(done, stream), watch.begin(open, stream);
    });
    EXPECT_TRUE(line.starts_with("rank 0 of 1, program micro-batch: its GPU has made no progress for 0.3")) << line;
    EXPECT_TRUE(line.ends_with("; under way: all_reduce over dp, layer 2, ranks 1 3")) << line;
  });
}

TEST_F(CudaWatch, says_nothing_while_there_is_no_work) {
  run_ranks(1, [](Ranks& ranks) {
    const auto comms = make_host_comms(ranks);
    EXPECT_EQ(line_of(ranks, *comms, [](cuda::Watch&, cudaStream_t) {}), "");
  });
}

TEST_F(CudaWatch, says_what_the_communicators_say) {
  run_ranks(1, [](Ranks& ranks) {
    BadComms comms;
    const std::string line = line_of(ranks, comms, [](cuda::Watch&, cudaStream_t) {});
    EXPECT_EQ(line, "rank 0 of 1, program none: ranks 0 1: broken; no transfer is under way");
  });
}

}  // namespace megalith
