// libFuzzer's entry to one target, FUZZ_NAME. An empty corpus folder is first filled with the target's seeds.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fuzz/target.h"

namespace fs = std::filesystem;
using megalith::fuzz::Target;

static const Target& target() {
  return *std::ranges::find(megalith::fuzz::targets(), std::string_view(FUZZ_NAME), &Target::name);
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const fs::path folder = (*argv)[i];
    if (!fs::is_directory(folder) || !fs::is_empty(folder)) continue;
    int number = 0;
    for (const std::string& seed : target().seeds())
      std::ofstream(folder / ("seed" + std::to_string(number++)), std::ios::binary) << seed;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  static const std::string scratch = fs::temp_directory_path() / ("megalith-fuzz-" + std::to_string(getpid()));
  megalith::fuzz::feed_once(target(), {reinterpret_cast<const char*>(data), size}, scratch);
  return 0;
}
