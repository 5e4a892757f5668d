#include "data/retro/faiss/index_words.h"

#include <algorithm>

#include "base/check.h"
#include "base/pattern.h"

namespace megalith {
namespace {

constexpr const char* kServed =
    "supported are Flat, SQ4, SQ6, SQ8, SQfp16, PQ<m> and PQ<m>x<bits>, each alone or after IVF<lists> or "
    "IVF<lists>_HNSW<links>, and HNSW<links>; before any of them PCA<size>, OPQ<m> or OPQ<m>_<size>";

// A number of the description, between `low` and `high`; `fallback` if it is missing.
i64 index_number(const std::string& description, const std::optional<std::string>& word, i64 low, i64 high,
                 i64 fallback = 0) {
  if (!word) return fallback;
  const i64 n = word->size() > 9 ? high + 1 : std::stoll(*word);
  check(n >= low && n <= high, "--retro-index-str {}: it has {}, want {} to {} there", description, *word, low, high);
  return n;
}

void check_divides(const std::string& description, i64 codes, i64 size) {
  check(size % codes == 0, "--retro-index-str {}: {} codes do not divide the point size {}: give a divisor",
        description, codes, size);
}

constexpr i64 kMostLists = 1 << 24, kMostLinks = 512, kCodeBits = 8;

// Parses the transformation before an index, and sets `size` to the size of its points. Returns how many points it
// needs for training.
i64 read_turn(const std::string& description, std::string& rest, i64& size) {
  const Groups words = match_all(rest, "(?:PCA([0-9]+)|OPQ([0-9]+)(?:_([0-9]+))?),(.*)");
  if (words.empty()) return 1;
  if (words[1]) {
    size = index_number(description, words[1], 1, size);
  } else {
    const i64 codes = index_number(description, words[2], 1, size);
    size = index_number(description, words[3], 1, size, size);
    check_divides(description, codes, size);
  }
  const i64 least = words[1] ? 1 : i64{1} << kCodeBits;
  rest = *words[4];
  return least;
}

}  // namespace

i64 least_learned(const std::string& description, i64 size) {
  std::string rest = description;
  i64 least = read_turn(description, rest, size);
  if (const Groups links = match_all(rest, "HNSW([0-9]+)(?:,Flat)?"); !links.empty()) {
    index_number(description, links[1], 2, kMostLinks);
    return least;
  }
  if (const Groups lists = match_all(rest, "IVF([0-9]+)(?:_HNSW([0-9]+))?,(.*)"); !lists.empty()) {
    least = std::max(least, index_number(description, lists[1], 1, kMostLists));
    index_number(description, lists[2], 2, kMostLinks);
    rest = *lists[3];
  }
  const Groups codes = match_all(rest, "Flat|SQ[468]|SQfp16|PQ([0-9]+)(?:x([0-9]+))?(?:np)?");
  check(!codes.empty(), "--retro-index-str {}: {}; or leave out the flag for exact search", description, kServed);
  if (codes[1]) {
    check_divides(description, index_number(description, codes[1], 1, size), size);
    least = std::max(least, i64{1} << index_number(description, codes[2], 1, kCodeBits, kCodeBits));
  }
  return least;
}

}  // namespace megalith
