#include "data/torch_randperm.h"

#include <numeric>
#include <random>
#include <utility>

namespace megalith {
namespace {

constexpr i64 kLargest32BitDraw = 0xffffffffll / 20;  // from this size on PyTorch draws 64 bits and iterates upwards

}  // namespace

std::vector<i64> torch_randperm(i64 n, u64 seed) {
  std::mt19937 engine{u32(seed)};
  std::vector<i64> result(n);
  std::iota(result.begin(), result.end(), i64{0});
  if (n < kLargest32BitDraw) {
    for (i64 i = 0; i + 1 < n; ++i) std::swap(result[i], result[i + i64(engine() % u64(n - i))]);
    return result;
  }
  for (i64 i = 0; i < n; ++i) {
    const u64 high = engine();
    const u64 draw = (high << 32) | u64(engine());
    std::swap(result[i], result[i64(draw % u64(i + 1))]);
  }
  return result;
}

}  // namespace megalith
