// The number of processes of this control group that the system killed because it ran out of memory.
#pragma once
#include "base/dtype.h"

namespace megalith::launch {

i64 out_of_memory_kills();  // 0 if unknown

}  // namespace megalith::launch
