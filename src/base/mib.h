// Formats bytes for reports.
#pragma once
#include "base/dtype.h"

namespace megalith {

inline double mib(i64 bytes) { return double(bytes) / (1 << 20); }

}  // namespace megalith
