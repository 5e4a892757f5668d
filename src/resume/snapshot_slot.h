// A snapshot slot: a memory file of the agent. It has the state of one rank, as in a checkpoint, and checksums of all
// bytes. The agent creates and frees the file (launch/snapshot_memory.h); ranks read and write it through inherited
// descriptors.
//
//   head, 64 bytes     magic; offset, size and xxh64 of the manifest; xxh64 of the head. Written last.
//   data               the rank's blocks, each at a multiple of 64 bytes, with zeros as padding
//   account            the manifest, as in a checkpoint; a block's key is its offset in the slot
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "ckpt/native/checkpoint_layout.h"
#include "comm/slot_client.h"

namespace megalith {

// A read-only mapping of the slot. The mapping ends with this object.
class SnapshotView {
 public:
  explicit SnapshotView(int fd);  // Error if it cannot be mapped
  ~SnapshotView();
  SnapshotView(const SnapshotView&) = delete;
  SnapshotView& operator=(const SnapshotView&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// Its data is in this node's memory, or far: in that of another node.
struct Snapshot {
  ManifestFile account;
  std::shared_ptr<const SnapshotView> view;
  std::shared_ptr<const FarSlot> far{};
};

// Allocates this many bytes for an empty slot, because the first write would take long. Error if memory is short.
void make_slot_room(int fd, i64 bytes, int threads, const std::atomic<bool>& is_over);
// Marks the slot as empty, writes the snapshot, then its head. Error if memory is short: the slot stays empty.
void write_snapshot(int fd, const Manifest& manifest, std::span<const SaveTensor> tensors, int threads = 1);
// Empty if the slot has no complete snapshot. DamagedCheckpoint if the checksum of its head or manifest is wrong.
std::optional<Snapshot> read_snapshot(int fd);
std::optional<Snapshot> read_far_snapshot(std::shared_ptr<const FarSlot> slot);
// Writes a copy of a slot that holds a snapshot, over all links at the same time. Until it returns the copy holds none.
void copy_snapshot(int fd, std::span<SlotLink> to, int file);
// DamagedCheckpoint if a checksum of its data is wrong. Only for data in this node's memory.
void check_snapshot(const Snapshot& snapshot, int threads = 1);

}  // namespace megalith
