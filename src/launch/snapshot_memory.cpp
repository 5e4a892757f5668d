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
    check(bool(files_.back()), "--snapshot-steps: the system cannot create a memory file: {}", std::strerror(errno));
    lent_.fds.push_back(files_.back().fd());
  }
}

// The system needs seconds to free tens of gigabytes, so each file has its own thread.
SnapshotMemory::~SnapshotMemory() {
  try {
    in_parallel(int(files_.size()),
                [&](int i) { [[maybe_unused]] const int status = ftruncate(lent_.fds[size_t(i)], 0); });
  } catch (const std::exception&) {  // no thread: the files are freed when the process exits
  }
}

}  // namespace megalith::launch
