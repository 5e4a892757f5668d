// A snapshot of one rank in the agent's memory: what a checkpoint holds, with a checksum of every part.
//
//   head, 64 bytes     magic, bytes and xxh64 of the account, where it begins; xxh64 of these. Written last.
//   data               the rank's blocks, each at a multiple of 64 bytes; zeros between them
//   account            a checkpoint's manifest; a block's key is the byte at which it begins
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "ckpt/native/checkpoint_layout.h"

namespace megalith {

// The file as memory that is only read, as long as it is needed.
class SnapshotView {
 public:
  explicit SnapshotView(int fd);  // Error if it cannot be seen
  ~SnapshotView();
  SnapshotView(const SnapshotView&) = delete;
  SnapshotView& operator=(const SnapshotView&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

struct Snapshot {
  ManifestFile account;
  std::shared_ptr<const SnapshotView> view;
};

// Allocates this many bytes for an empty slot, which takes long the first time. Error if memory is short.
void make_slot_room(int fd, i64 bytes, int threads, const std::atomic<bool>& is_over);
// Until it returns the slot holds no snapshot. Error, with no snapshot there, if memory is short.
void write_snapshot(int fd, const Manifest& manifest, std::span<const SaveTensor> tensors, int threads = 1);
// Nothing where none was finished. DamagedCheckpoint if its head or account is another than was written.
std::optional<Snapshot> read_snapshot(int fd);
// DamagedCheckpoint if any byte of its data is.
void check_snapshot(const Snapshot& snapshot, int threads = 1);

}  // namespace megalith
