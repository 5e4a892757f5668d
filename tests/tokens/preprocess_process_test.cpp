// The process of preprocess-data: its memory use, and the files that it leaves when it is killed.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "base/process_memory.h"
#include "tests/tokens/preprocessed.h"

namespace megalith {

// With eight times the documents the peak memory does not grow. In child processes, because the peak never decreases.
TEST(Preprocess, memory_does_not_grow_with_the_input) {
  const TempDir dir;
  const auto peak = [&](int copies) {
    std::string lines;
    for (int i = 0; i < 100000; ++i) lines += json_line("a");
    const auto config = byte_config(dir, dir.write("in.jsonl", lines));
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      PreprocessConfig c = config;
      c.input.assign(size_t(copies), config.input[0]);
      preprocess(c);
      const i64 bytes = peak_resident_bytes();
      _exit(write(ends[1], &bytes, sizeof bytes) == sizeof bytes ? 0 : 1);
    }
    i64 bytes = 0;
    EXPECT_EQ(read(ends[0], &bytes, sizeof bytes), ssize_t(sizeof bytes));
    close(ends[0]), close(ends[1]);
    waitpid(child, nullptr, 0);
    return bytes;
  };
  // Lengths and ends of 700,000 more documents would be 8 MB; that is more than buffers can vary.
  EXPECT_LT(peak(8), peak(1) + (i64{4} << 20));
}

// The child reads a pipe that never ends, so it is killed during its work.
TEST(Preprocess, a_killed_run_leaves_nothing_under_the_final_names) {
  const TempDir dir;
  const std::string pipe = dir.file("in.jsonl");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const pid_t child = fork();
  if (child == 0) {
    preprocess(byte_config(dir, pipe));
    _exit(0);
  }
  {
    std::ofstream out(pipe, std::ios::binary);
    out << many_lines(20000) << std::flush;
    const std::string partial = dir.file("out_text_document.bin.partial");
    for (int i = 0; i < 1000 && (!std::filesystem::exists(partial) || std::filesystem::file_size(partial) == 0); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(std::filesystem::exists(partial));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
  for (const std::string& name : files_in(dir, "out")) EXPECT_TRUE(name.ends_with(".partial")) << name;
}

// A pipe without a reader replaces the merged file. So the child is killed after the parts are complete.
TEST(Preprocess, a_run_killed_with_its_parts_done_leaves_no_dataset) {
  const TempDir dir;
  auto config = byte_config(dir, dir.write("in.jsonl", json_line("a") + json_line("b")));
  config.partitions = 2;
  ASSERT_EQ(mkfifo(dir.file("out_text_document.bin.partial").c_str(), 0600), 0);
  const auto parts = [&] {
    i64 count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.path))
      count += entry.path().extension() == ".idx";
    return count;
  };
  const pid_t child = fork();
  if (child == 0) {
    preprocess(config);
    _exit(0);
  }
  for (int i = 0; i < 1000 && parts() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GT(parts(), 0);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  for (const std::string& name : files_in(dir, "out")) EXPECT_TRUE(name.ends_with(".partial")) << name;
}

}  // namespace megalith
