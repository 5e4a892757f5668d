#include "launch/snapshot_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include "base/check.h"
#include "base/in_parallel.h"

namespace megalith::launch {

SnapshotMemory::SnapshotMemory(i64 steps, int ranks) : steps_(steps), own_(steps > 0 ? kSnapshotSlots * ranks : 0) {
  for (int i = 0; i < own_; ++i)
    check(add(), "--snapshot-steps: the system cannot create a memory file: {}", std::strerror(errno));
}

// The system needs seconds to free tens of gigabytes, so each file has its own thread. Without threads the files are
// freed when the process exits.
void SnapshotMemory::give_back() {
  const SnapshotFds all = lent();
  if (given_back_.valid() || all.size() == 0) return;
  try {
    given_back_ = std::async(std::launch::async, [all] {
      in_parallel(int(all.size()), [&](int i) { [[maybe_unused]] const int status = ftruncate(all.fd(size_t(i)), 0); });
    });
  } catch (const std::exception&) {
  }
}

SnapshotMemory::~SnapshotMemory() {
  give_back();
  try {
    if (given_back_.valid()) given_back_.get();
  } catch (const std::exception&) {
  }
}

bool SnapshotMemory::add() {
  Socket file(memfd_create("megalith-snapshot", MFD_CLOEXEC));
  if (!file) return false;
  files_.push_back(std::move(file));
  return true;
}

SnapshotFds SnapshotMemory::lent() const {
  const std::lock_guard hold(lock_);
  SnapshotFds s{.steps = steps_};
  for (int i = 0; i < int(files_.size()); ++i) (is_copy(i) ? s.copies : s.fds).push_back(files_[size_t(i)].fd());
  return s;
}

int SnapshotMemory::file(int index) const {
  const std::lock_guard hold(lock_);
  return index < 0 || index >= int(files_.size()) ? -1 : files_[size_t(index)].fd();
}

int SnapshotMemory::copies_of(int rank) {
  const std::lock_guard hold(lock_);
  const auto [it, added] = copies_.emplace(rank, int(files_.size()));
  for (int i = 0; added && i < kSnapshotSlots; ++i)
    if (!add()) {
      files_.resize(size_t(it->second));
      copies_.erase(it);
      return -1;
    }
  return it->second;
}

}  // namespace megalith::launch
