// The host's memory that the GPU reads and writes by itself.
#pragma once
#include <memory>

#include "base/dtype.h"

namespace megalith::cuda {

struct FreePinned {
  void operator()(std::byte* p) const;
};
using Pinned = std::unique_ptr<std::byte, FreePinned>;

// Nothing for 0 bytes. Error if the memory can't be had.
Pinned zeroed_pinned(i64 bytes);

}  // namespace megalith::cuda
