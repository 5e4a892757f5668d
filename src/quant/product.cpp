#include "quant/product.h"

#include <algorithm>
#include <cmath>

namespace megalith::quant {

Product multiply(const Operand& a, const Operand& b) {
  check(a.k == b.k, "a product of [{}, {}] by [{}, {}]: want one length of sums", a.rows, a.k, b.rows, b.k);
  const i64 run = std::min({a.width, b.width, i64{128}});
  Product p;
  p.out.reserve(size_t(a.rows * b.rows)), p.sums.reserve(size_t(a.rows * b.rows));
  for (i64 m = 0; m < a.rows; ++m)
    for (i64 n = 0; n < b.rows; ++n) {
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
      p.out.push_back(float(total)), p.sums.push_back(absolute);
    }
  return p;
}

}  // namespace megalith::quant
