// Memory of another process of this host and user, read without its help.
#pragma once
#include "base/dtype.h"

namespace megalith {

// False, with nothing to rely on in `to`, if the system does not allow it.
bool read_near(i64 pid, u64 address, void* to, u64 bytes);

}  // namespace megalith
