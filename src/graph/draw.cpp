#include "graph/draw.h"

#include <cmath>

#include "base/rng.h"
#include "base/threads.h"

namespace megalith {

// Of mean 0 and deviation 1.
static double number(const Draw& d, u64 key) { return d.uniform ? std::sqrt(3.0) * (2 * unit(key) - 1) : normal(key); }

void draw(const Draw& d, const Type& t, const Mesh& mesh, const Coord& coord, float* out) {
  const int ndim = t.ndim();
  std::vector<std::vector<i64>> index;
  for (int k = 0; k < ndim; ++k) index.push_back(indices(mesh, t.shape, t.layout, coord, k));
  const i64 last = i64(index.back().size());
  i64 rows = 1;
  for (int k = 0; k + 1 < ndim; ++k) rows *= i64(index[k].size());
  parallel_for(rows, 16, [&](i64 row) {
    u64 h = d.key;
    i64 first_dim = -1, left = row, block = rows;
    for (int k = 0; k + 1 < ndim; ++k) {
      block /= i64(index[k].size());
      const i64 i = index[k][left / block];
      left %= block;
      if (k == 0) first_dim = i;
      h = mix(h, u64(i));
    }
    for (i64 k = 0; k < last; ++k) {
      const i64 i = index[ndim - 1][k];
      const bool real = (ndim == 1 ? i : first_dim) < d.true_rows;
      out[row * last + k] = !real ? 0.0f : float(d.mean + (d.std > 0 ? d.std * number(d, mix(h, u64(i))) : 0));
    }
  });
}

}  // namespace megalith
