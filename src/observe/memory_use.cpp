#include "observe/memory_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace megalith {

std::vector<MemoryUse> all_memory_use(Ranks& ranks, const MemoryUse& mine) {
  std::vector<MemoryUse> out;
  for (const std::string& text : ranks.all_gather(std::string(reinterpret_cast<const char*>(&mine), sizeof mine)))
    std::memcpy(&out.emplace_back(), text.data(), sizeof mine);
  return out;
}

static std::string text_of(const MemoryUse& m) {
  constexpr double kMiB = 1 << 20;
  return fmt::format("planned {:.1f} MiB, used {:.1f} MiB ({:.2f} %)", double(m.planned) / kMiB, double(m.used) / kMiB,
                     100 * m.share());
}

std::string memory_line(const std::vector<MemoryUse>& ranks) {
  if (ranks.size() == 1) return "memory: " + text_of(ranks[0]);
  const auto fullest = std::ranges::max_element(ranks, {}, &MemoryUse::used);
  const auto worst = std::ranges::max_element(ranks, {}, &MemoryUse::share);
  return fmt::format("memory of {} ranks: the fullest is rank {}, {}; the largest share of its plan has rank {}, {}",
                     ranks.size(), fullest - ranks.begin(), text_of(*fullest), worst - ranks.begin(), text_of(*worst));
}

}  // namespace megalith
