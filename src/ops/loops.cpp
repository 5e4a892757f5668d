#include "ops/loops.h"

namespace megalith {

namespace {

bool covers(const Loop& inner, const Loop& outer) {
  for (int o = 0; o < kMaxOperands; ++o)
    if (outer.stride[o] != inner.stride[o] * inner.n) return false;
  return true;
}

// Merges one pair, if possible.
bool merge_once(std::vector<Loop>& loops) {
  for (size_t p = 0; p < loops.size(); ++p)
    for (size_t q = 0; q < loops.size(); ++q)
      if (p != q && covers(loops[q], loops[p])) {
        loops[q].n *= loops[p].n;
        loops.erase(loops.begin() + i64(p));
        return true;
      }
  return false;
}

}  // namespace

std::vector<Loop> make_loops(const std::vector<Lettered>& operands) {
  check(operands.size() <= kMaxOperands, "{} operands", operands.size());
  std::string order = operands.back().letters;
  for (const Lettered& x : operands)
    for (char c : x.letters)
      if (order.find(c) == std::string::npos) order += c;
  std::vector<Loop> loops;
  for (char c : order) {
    Loop loop;
    for (size_t o = 0; o < operands.size(); ++o) {
      i64 stride = 1;
      for (size_t d = operands[o].letters.size(); d-- > 0; stride *= operands[o].shape[d])
        if (operands[o].letters[d] == c) loop.n = operands[o].shape[d], loop.stride[o] += stride;
    }
    if (loop.n != 1) loops.push_back(loop);
  }
  if (size_of(loops) > 0)
    while (merge_once(loops)) {
    }
  return loops;
}

i64 size_of(const std::vector<Loop>& loops) {
  i64 n = 1;
  for (const Loop& loop : loops) n *= loop.n;
  return n;
}

std::array<i64, kMaxOperands> offsets(const std::vector<Loop>& loops, i64 i) {
  std::array<i64, kMaxOperands> at{};
  for (size_t l = loops.size(); l-- > 0; i /= loops[l].n)
    for (int o = 0; o < kMaxOperands; ++o) at[o] += i % loops[l].n * loops[l].stride[o];
  return at;
}

}  // namespace megalith
