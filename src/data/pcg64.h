// numpy.random.default_rng(seed): PCG64 (O'Neill's pcg_setseq_128_xsl_rr_64) seeded through NumPy's SeedSequence.
#pragma once
#include "base/dtype.h"

namespace megalith {

class Pcg64 {
 public:
  explicit Pcg64(u32 seed);

  u64 next64();
  u32 next32();          // the lower half of a 64-bit output, then its upper half
  u32 below(u32 bound);  // uniform in [0, bound), by Lemire's multiplication with rejection

 private:
  __extension__ using u128 = unsigned __int128;
  void step();

  u128 state_ = 0, increment_ = 0;
  u32 spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace megalith
