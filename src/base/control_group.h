// Memory of the control group (cgroup) of this process.
#pragma once
#include <optional>

#include "base/dtype.h"

namespace megalith {

std::optional<i64> memory_limit();  // bytes; empty if there is no limit, or if it is unknown
i64 out_of_memory_kills();  // processes that the system killed because the group ran out of memory; 0 if unknown

}  // namespace megalith
