#include "train/odd_copies.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "base/check.h"

namespace megalith {

std::string text_of(std::span<const CopyHash> copies) {
  std::string out;
  for (const CopyHash& c : copies) out += fmt::format("{}\t{}\t{:x}\n", c.block, c.weight, c.hash);
  return out;
}

std::vector<CopyHash> copies_of(const std::string& text) {
  std::vector<CopyHash> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    check(second != std::string::npos, "another rank tells hashes of weights as '{}'", line);
    CopyHash& c = out.emplace_back(CopyHash{line.substr(0, first), line.substr(first + 1, second - first - 1)});
    std::from_chars(line.data() + second + 1, line.data() + line.size(), c.hash, 16);
  }
  return out;
}

namespace {

struct Copy {
  int rank;
  u64 hash;
};

// The hash of more than half of them, if there is one.
std::optional<u64> agreed(const std::vector<Copy>& copies) {
  std::map<u64, size_t> count;
  for (const Copy& c : copies)
    if (2 * ++count[c.hash] > copies.size()) return c.hash;
  return {};
}

}  // namespace

std::vector<OddCopy> odd_copies(std::span<const std::string> texts) {
  std::vector<std::pair<std::string, std::string>> order;  // as reported by the ranks
  std::map<std::pair<std::string, std::string>, std::vector<Copy>> all;
  for (size_t r = 0; r < texts.size(); ++r)
    for (const CopyHash& c : copies_of(texts[r])) {
      std::vector<Copy>& copies = all[{c.block, c.weight}];
      if (copies.empty()) order.push_back({c.block, c.weight});
      copies.push_back({int(r), c.hash});
    }
  std::map<int, OddCopy> odd;
  for (const auto& key : order) {
    const std::vector<Copy>& copies = all[key];
    if (std::ranges::all_of(copies, [&](const Copy& c) { return c.hash == copies[0].hash; })) continue;
    const std::optional<u64> right = agreed(copies);
    for (const Copy& c : copies) {
      if (c.hash == right) continue;
      OddCopy& o = odd[c.rank];
      if (o.weights++ == 0) o.rank = c.rank, o.weight = key.second;
      o.is_clear = o.is_clear || right;
      if (o.others.empty())
        for (const Copy& other : copies)
          if (other.rank != c.rank) o.others.push_back(other.rank);
    }
  }
  std::vector<OddCopy> out;
  for (auto& [rank, o] : odd) out.push_back(std::move(o));
  return out;
}

}  // namespace megalith
