// A small file system in memory that only one process of a test sees.
#pragma once
#include <functional>
#include <string>

#include "base/dtype.h"

namespace megalith::test {

// Runs f in a process with its own mounts. `dir` is a file system of this size. Returns false if mounts are not
// permitted. Failures of f are failures of the test.
bool on_small_disk(const std::string& dir, i64 bytes, const std::function<void()>& f);

}  // namespace megalith::test
