// How often the system has killed processes of this control group for want of memory.
#pragma once
#include "base/dtype.h"

namespace megalith::launch {

i64 out_of_memory_kills();  // 0 where that cannot be told

}  // namespace megalith::launch
