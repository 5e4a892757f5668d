// For interpreters that write leaves through a staging buffer. The caller puts bytes directly into that buffer, which
// saves one copy.
#pragma once
#include <functional>

#include "plan/plan.h"

namespace megalith {

class FilledWrites {
 public:
  static constexpr i64 kMost = i64{2} << 20;  // maximum bytes of one write; smaller writes leave the device idle

  virtual ~FilledWrites() = default;
  using Put = std::function<void(std::byte* to)>;
  // Like Interpreter::write_part(), for the `bytes` that `put` writes. If `put` throws, the exception goes to the
  // caller, and the leaf does not change.
  virtual void fill_part(const Leaf& leaf, i64 begin, i64 bytes, const Put& put) = 0;
};

}  // namespace megalith
