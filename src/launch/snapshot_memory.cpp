#include "launch/snapshot_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include "base/check.h"
#include "base/in_parallel.h"

namespace megalith::launch {

SnapshotMemory::SnapshotMemory(i64 steps, int ranks) {
  lent_.steps = steps;
  for (int i = 0; steps > 0 && i < kSnapshotSlots * ranks; ++i) {
    files_.emplace_back(memfd_create("megalith-snapshot", MFD_CLOEXEC));
    check(bool(files_.back()), "--snapshot-steps: the system gives no memory file: {}", std::strerror(errno));
    lent_.fds.push_back(files_.back().fd());
  }
}

// The system takes seconds for tens of gigabytes of a file. The files are taken at a time.
SnapshotMemory::~SnapshotMemory() {
  try {
    in_parallel(int(files_.size()),
                [&](int i) { [[maybe_unused]] const int status = ftruncate(lent_.fds[size_t(i)], 0); });
  } catch (const std::exception&) {  // no thread: they go with this process
  }
}

}  // namespace megalith::launch
