#include "fuzz/target.h"

#include <ctime>

#include "base/check.h"
#include "fuzz/tools.h"

namespace megalith::fuzz {

std::span<const Target> targets() {
  static constexpr Target kTargets[] = {
#define FUZZ_TARGET(NAME) {#NAME, NAME::feed, NAME::seeds},
#include "fuzz/targets.def"
#undef FUZZ_TARGET
  };
  return kTargets;
}

bool feed_once(const Target& target, std::string_view input, const std::string& scratch) {
  const std::clock_t start = std::clock();
  bool accepted = true;
  try {
    target.feed(input, scratch);
  } catch (const Error& e) {
    expect(std::string_view(e.what()).find('\n') == std::string_view::npos, "an error of more than one line");
    accepted = false;
  }
  expect(double(std::clock() - start) / CLOCKS_PER_SEC < kMostSeconds, "an input that takes too long");
  return accepted;
}

}  // namespace megalith::fuzz
