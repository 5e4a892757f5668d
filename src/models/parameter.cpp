#include "models/parameter.h"

#include "base/rng.h"
#include "base/threads.h"

namespace megalith {

void init_parameter(const Parameter& p, const Mesh& mesh, const Coord& coord, u64 seed, float* out) {
  const Type& t = p.type;
  const int ndim = t.ndim();
  std::vector<std::vector<i64>> index;
  for (int d = 0; d < ndim; ++d) index.push_back(indices(mesh, t.shape, t.layout, coord, d));
  const i64 last = i64(index.back().size());
  i64 rows = 1;
  for (int d = 0; d + 1 < ndim; ++d) rows *= i64(index[d].size());
  const u64 key = mix(seed, hash_name(p.name));
  parallel_for(rows, 16, [&](i64 row) {
    u64 h = key;
    i64 first_dim = -1, left = row, block = rows;
    for (int d = 0; d + 1 < ndim; ++d) {
      block /= i64(index[d].size());
      const i64 i = index[d][left / block];
      left %= block;
      if (d == 0) first_dim = i;
      h = mix(h, u64(i));
    }
    for (i64 k = 0; k < last; ++k) {
      const i64 i = index[ndim - 1][k];
      const bool real = (ndim == 1 ? i : first_dim) < p.true_rows;
      out[row * last + k] = !real ? 0.0f : float(p.mean + (p.std > 0 ? p.std * normal(mix(h, u64(i))) : 0));
    }
  });
}

}  // namespace megalith
