// A load must read only the necessary bytes of the files.
#include <gtest/gtest.h>

#include "exec/cpu/backend.h"
#include "small_run.h"
#include "tests/harness/thread_ranks.h"
#include "train/pretrain.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

// The number of bytes that this process has read through the kernel.
i64 bytes_read() {
  std::ifstream in("/proc/self/io");
  std::string key;
  i64 value = 0;
  while (in >> key >> value)
    if (key == "rchar:") return value;
  return -1;
}

// Trains one iteration, or loads its checkpoint. Returns the number of bytes read.
i64 train(const std::string& dir, int ranks, const char* flags) {
  const i64 before = bytes_read();
  testing::internal::CaptureStdout();
  harness::run_ranks(ranks, [&](Ranks& r) {
    const Options o = options_for(
        ranks,
        fmt::format("--num-layers 1 --hidden-size 300 --max-position-embeddings 30000 --global-batch-size 4 --save {0} "
                    "--load {0} --save-interval 1 --train-iters 1 {1}",
                    dir, flags));
    pretrain(o, *make_cpu_backend(&r), r);
  });
  testing::internal::GetCapturedStdout();
  return bytes_read() - before;
}

// The size of a chunk, 4 MiB, is not a multiple of the row size, 1,200 bytes. Two threads divide a tensor at chunks,
// not at rows.
TEST(StateLoad, reads_each_chunk_once) {
  ASSERT_GE(bytes_read(), 0) << "/proc/self/io does not tell what this process reads";
  for (const auto& [ranks, flags] : {std::pair(1, "--bf16"), std::pair(2, "--use-distributed-optimizer")}) {
    SCOPED_TRACE(fmt::format("{} ranks {}", ranks, flags));
    const TempFolder folder("state_load");
    train(folder.path, ranks, flags);
    i64 size = 0;
    for (const auto& entry : fs::directory_iterator(folder.path / "iter_0000001"))
      if (entry.path().extension() == ".safetensors") size += i64(entry.file_size());
    EXPECT_GT(size, 100'000'000);
    const i64 read = train(folder.path, ranks, flags);
    EXPECT_GE(read, size * 99 / 100);
    EXPECT_LE(read, size * 101 / 100 + ranks * i64(fs::file_size("/proc/self/exe")));  // + the binary
  }
}

}  // namespace
}  // namespace megalith
