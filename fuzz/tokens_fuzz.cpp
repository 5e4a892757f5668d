// libFuzzer's entry to tests/tokens/fuzz_targets.h.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/tokens/fuzz_targets.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  namespace fs = std::filesystem;
  for (int i = 1; i < *argc; ++i) {
    const fs::path folder = (*argv)[i];
    if (!fs::is_directory(folder) || !fs::is_empty(folder)) continue;
    int number = 0;
    for (const std::string& seed : megalith::fuzz_seeds())
      std::ofstream(folder / ("seed" + std::to_string(number++)), std::ios::binary) << seed;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  const bool has_memory = std::filesystem::exists("/dev/shm");
  const std::string file = std::string(has_memory ? "/dev/shm" : "/tmp") + "/megalith-fuzz-" + std::to_string(getpid());
  megalith::fuzz_one({reinterpret_cast<const char*>(data), size}, file);
  return 0;
}
