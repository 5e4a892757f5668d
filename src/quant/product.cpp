#include "quant/product.h"

#include <algorithm>
#include <cmath>

#include "base/threads.h"

namespace megalith::quant {

Product multiply(const Operand& a, const Operand& b) {
  check(a.k == b.k, "a product of [{}, {}] by [{}, {}]: want one length of sums", a.rows, a.k, b.rows, b.k);
  const i64 run = std::min({a.width, b.width, i64{128}});
  Product p = {std::vector<float>(size_t(a.rows * b.rows)), std::vector<double>(size_t(a.rows * b.rows))};
  parallel_for(a.rows * b.rows, 256, [&](i64 i) {
    const i64 m = i / b.rows, n = i % b.rows;
    double total = 0, absolute = 0;
    for (i64 begin = 0; begin < a.k; begin += run) {
      float sum = 0, absolute_sum = 0;
      for (i64 c = begin; c < std::min(a.k, begin + run); ++c) {
        const float term = a.values[size_t(m * a.k + c)] * b.values[size_t(n * b.k + c)];
        sum += term, absolute_sum += std::abs(term);
      }
      const double scale = a.scale(m, begin) * b.scale(n, begin);
      total += double(sum) * scale, absolute += double(absolute_sum) * scale;
    }
    p.out[size_t(i)] = float(total), p.sums[size_t(i)] = absolute;
  });
  return p;
}

}  // namespace megalith::quant
