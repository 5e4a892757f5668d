// Copies many bytes with all threads.
#pragma once
#include <cstring>

#include "base/threads.h"

namespace megalith::cpu {

inline void copy_bytes(std::byte* to, const std::byte* from, i64 bytes) {
  parallel_ranges(bytes, i64{1} << 20,
                  [&](i64 begin, i64 end) { std::memcpy(to + begin, from + begin, size_t(end - begin)); });
}

}  // namespace megalith::cpu
