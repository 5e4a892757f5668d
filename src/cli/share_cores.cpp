#include "cli/share_cores.h"

#include <omp.h>

#include <algorithm>
#include <cstdlib>

namespace megalith {

void share_cores(const Place& place) {
  if (place.size > 1 && !std::getenv("OMP_NUM_THREADS"))
    omp_set_num_threads(std::max(1, omp_get_num_procs() / place.local_size));
}

}  // namespace megalith
