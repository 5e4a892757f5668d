// Of an interpreter that moves what is written through memory of its own: a caller puts bytes there itself, so they
// are copied once less.
#pragma once
#include <functional>

#include "plan/plan.h"

namespace megalith {

class FilledWrites {
 public:
  static constexpr i64 kMost = i64{2} << 20;  // bytes of one write: fewer at a time leave the device waiting

  virtual ~FilledWrites() = default;
  using Put = std::function<void(std::byte* to)>;
  // As Interpreter::write_part() of the `bytes` that `put` writes. What `put` throws goes to the caller; then the leaf
  // stays as it was.
  virtual void fill_part(const Leaf& leaf, i64 begin, i64 bytes, const Put& put) = 0;
};

}  // namespace megalith
