// Mutated inputs for every fuzz target, the same ones on every machine; MEGALITH_FUZZ_RUNS sets how many for each
// (default 4000). No crash, no error of several lines, no input that takes a second of processor time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "base/dtype.h"
#include "fuzz/target.h"

namespace megalith::fuzz {

namespace {

constexpr std::string_view kWords[] = {"null",
                                       "{}",
                                       "[]",
                                       "\"\"",
                                       "true",
                                       "-1",
                                       "1e308",
                                       "4294967296",
                                       "\\u0000",
                                       "\xFF",
                                       "\xF4\x90\x80\x80",
                                       "\"type\":",
                                       "Sequence",
                                       "ByteLevel",
                                       "Split",
                                       "BPE",
                                       "Unigram",
                                       "(a|a)*",
                                       "[[",
                                       "{9999}",
                                       "\\p{",
                                       "(?<="};

std::string mutated(std::mt19937& random, const std::vector<std::string>& seeds) {
  std::string s = seeds[random() % seeds.size()];
  for (u32 n = 1 + random() % 4; n > 0 && !s.empty(); --n) {
    const size_t at = random() % s.size(), size = 1 + random() % std::min<size_t>(64, s.size() - at);
    switch (random() % 7) {
      case 0:
        s[at] = char(random());
        break;
      case 1:
        s[at] = char(u8(s[at]) ^ 1u << random() % 8);
        break;
      case 2:
        s.erase(at, size);
        break;
      case 3:
        s.insert(at, s.substr(random() % s.size(), size));
        break;
      case 4:
        s.insert(at, kWords[random() % std::size(kWords)]);
        break;
      case 5:
        s.replace(at, size, kWords[random() % std::size(kWords)]);
        break;
      default:
        s.resize(at);
    }
  }
  return s;
}

class Fuzz : public testing::TestWithParam<Target> {
 protected:
  // In memory where that is possible: each input is written.
  std::filesystem::path folder_ =
      (std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path()) /
      std::filesystem::path("megalith-fuzz-" + std::to_string(getpid()));
  Fuzz() { std::filesystem::create_directories(folder_); }
  ~Fuzz() override { std::filesystem::remove_all(folder_); }
};

}  // namespace

TEST_P(Fuzz, survives_broken_input) {
  const Target& target = GetParam();
  const std::string scratch = (folder_ / "input").string();
  const char* asked = std::getenv("MEGALITH_FUZZ_RUNS");
  const int runs = asked ? std::atoi(asked) : 4000;
  const std::vector<std::string> seeds = target.seeds();
  for (size_t i = 0; i < seeds.size(); ++i)
    ASSERT_TRUE(feed_once(target, seeds[i], scratch)) << "seed " << i << ": " << seeds[i];
  std::mt19937 random(6);
  for (int run = 0; run < runs; ++run) {
    const std::string input = mutated(random, seeds);
    ASSERT_NO_THROW(feed_once(target, input, scratch)) << "run " << run << ": " << input.substr(0, 2000);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace megalith::fuzz
