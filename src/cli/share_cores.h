// The threads of a rank.
#pragma once
#include "comm/place.h"

namespace megalith {

// If there are several ranks, this one gets its share of the host's cores. OMP_NUM_THREADS overrides that.
void share_cores(const Place& place);

}  // namespace megalith
