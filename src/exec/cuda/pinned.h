// Host memory that the GPU can access directly.
#pragma once
#include <memory>

#include "base/dtype.h"

namespace megalith::cuda {

struct FreePinned {
  void operator()(std::byte* p) const;
};
using Pinned = std::unique_ptr<std::byte, FreePinned>;

// Null for 0 bytes. Error if allocation fails.
Pinned zeroed_pinned(i64 bytes);

}  // namespace megalith::cuda
