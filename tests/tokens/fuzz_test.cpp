// Mutated files and texts, the same ones on every machine; MEGALITH_FUZZ_RUNS sets how many (default 4000). No crash,
// no error of several lines, and no input that takes a second of CPU time.
#include "tests/tokens/fuzz_targets.h"

#include <cstdlib>
#include <ctime>

#include "tests/tokens/helpers.h"

namespace megalith {

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
  const char target = s[0];
  s.erase(0, 1);
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
  return target + s;
}

}  // namespace

TEST(Fuzz, tokenizers_survive_broken_files_and_texts) {
  const TempDir dir;
  const char* asked = std::getenv("MEGALITH_FUZZ_RUNS");
  const int runs = asked ? std::atoi(asked) : 4000;
  const std::vector<std::string> seeds = fuzz_seeds();
  for (size_t i = 0; i < seeds.size(); ++i)
    ASSERT_TRUE(fuzz_one(seeds[i], dir.file("input"))) << "seed " << i << ": " << seeds[i];
  std::mt19937 random(6);
  for (int run = 0; run < runs; ++run) {
    const std::string input = mutated(random, seeds);
    const std::clock_t start = std::clock();
    ASSERT_NO_THROW(fuzz_one(input, dir.file("input"))) << "run " << run;
    ASSERT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, 1.0) << "run " << run << ": " << input.substr(0, 2000);
  }
}

}  // namespace megalith
