#include "launch/snapshot_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace megalith::launch {

SnapshotMemory::SnapshotMemory(i64 steps, int ranks) {
  lent_.steps = steps;
  for (int i = 0; steps > 0 && i < kSnapshotSlots * ranks; ++i) {
    files_.emplace_back(memfd_create("megalith-snapshot", MFD_CLOEXEC));
    check(bool(files_.back()), "--snapshot-steps: the system gives no memory file: {}", std::strerror(errno));
    lent_.fds.push_back(files_.back().fd());
  }
}

}  // namespace megalith::launch
