#include "models/parameter.h"

#include "base/rng.h"

namespace megalith {

Draw start_of(const Parameter& p, u64 seed) { return {mix(seed, hash_name(p.name)), p.mean, p.std, p.true_rows}; }

void init_parameter(const Parameter& p, const Mesh& mesh, const Coord& coord, u64 seed, float* out) {
  draw(start_of(p, seed), p.type, mesh, coord, out);
}

}  // namespace megalith
