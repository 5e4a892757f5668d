#include "resume/snapshot_slot.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/parse_count.h"
#include "ckpt/native/shards.h"

namespace megalith {
namespace {

struct SlotHead {
  static constexpr u64 kMagic = 0x31544f4853474d;  // "MGSHOT1"
  u64 magic = 0;
  i64 account_at = 0, account_bytes = 0;
  u64 account_sum = 0, own_sum = 0;

  u64 sum() const { return xxh64(std::as_bytes(std::span(this, 1)).first(offsetof(SlotHead, own_sum))); }
};

constexpr i64 kSlotLine = 64;

i64 aligned(i64 at) { return (at + kSlotLine - 1) / kSlotLine * kSlotLine; }

void put(int fd, std::span<const std::byte> bytes, i64 at) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), at);
    if (n < 0 && errno == EINTR) continue;
    check(n > 0, "the agent's memory takes no more: {}", n < 0 ? std::strerror(errno) : "no room");
    bytes = bytes.subspan(size_t(n)), at += n;
  }
}

[[noreturn]] void fail_damaged(const std::string& what) {
  throw DamagedCheckpoint("a snapshot in memory is not what was written: " + what);
}

ManifestFile account_in(std::span<const std::byte> all, const SlotHead& head) {
  const i64 size = i64(all.size());
  if (head.account_at < kSlotLine || head.account_at > size || head.account_bytes > size - head.account_at)
    fail_damaged("its account lies outside");
  const std::span bytes = all.subspan(size_t(head.account_at), size_t(head.account_bytes));
  if (xxh64(bytes) != head.account_sum) fail_damaged("its account");
  return parse_manifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "a snapshot", false);
}

void check_sums(std::span<const std::byte> all, const ManifestFile& account) {
  for (const CheckpointTensor& t : account.tensors)
    for (const TensorBlock& b : t.blocks) {
      const i64 bytes = count(b.shape) * size_of(t.dtype);
      const auto at = parse_count(b.key);
      if (!at || *at > i64(all.size()) || bytes > i64(all.size()) - *at) fail_damaged(t.name + " lies outside");
      for (i64 begin = 0, chunk = 0; begin < bytes; begin += b.chunk_bytes, ++chunk)
        if (xxh64(all.subspan(size_t(*at + begin), size_t(std::min(b.chunk_bytes, bytes - begin)))) !=
            b.checksums[size_t(chunk)])
          fail_damaged(fmt::format("tensor {}, chunk {}", t.name, chunk));
    }
}

}  // namespace

SnapshotView::SnapshotView(int fd) {
  struct stat s {};
  check(fstat(fd, &s) == 0, "the agent's memory for snapshots cannot be seen: {}", std::strerror(errno));
  if (s.st_size == 0) return;
  void* p = mmap(nullptr, size_t(s.st_size), PROT_READ, MAP_SHARED, fd, 0);
  check(p != MAP_FAILED, "the agent's memory for snapshots cannot be seen: {}", std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(p), size_t(s.st_size)};
}

SnapshotView::~SnapshotView() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void write_snapshot(int fd, const Manifest& manifest, std::span<const SaveTensor> tensors) {
  const auto put_head = [&](const SlotHead& head) { put(fd, std::as_bytes(std::span(&head, 1)), 0); };
  put_head({});
  ManifestFile file{.manifest = manifest, .tensors = {}};
  std::unordered_map<std::string, size_t> index;
  std::vector<std::byte> piece;
  i64 at = kSlotLine;
  for (const SaveTensor& t : tensors) {
    const auto [it, added] = index.emplace(t.name, file.tensors.size());
    if (added) file.tensors.push_back({t.name, t.dtype, global_shape(t), {}});
    TensorBlock block{.file = "memory", .key = std::to_string(at), .offset = block_offset(t), .shape = t.shape};
    for_chunks(t, piece, [&](std::span<const std::byte> bytes) {
      block.checksums.push_back(xxh64(bytes));
      put(fd, bytes, at);
      at += i64(bytes.size());
    });
    file.tensors[it->second].blocks.push_back(std::move(block));
    at = aligned(at);
  }
  const std::string account = format_manifest(file);
  put(fd, std::as_bytes(std::span(account)), at);
  SlotHead head{
      .magic = SlotHead::kMagic, .account_at = at, .account_bytes = i64(account.size()), .account_sum = xxh64(account)};
  head.own_sum = head.sum();
  put_head(head);
}

std::optional<Snapshot> read_snapshot(int fd, bool verify) {
  auto view = std::make_shared<const SnapshotView>(fd);
  SlotHead head;
  const std::span all = view->bytes();
  if (all.size() < sizeof head) return {};
  std::memcpy(&head, all.data(), sizeof head);
  if (head.magic == 0 && head.own_sum == 0) return {};
  if (head.magic != SlotHead::kMagic || head.own_sum != head.sum()) fail_damaged("its head");
  ManifestFile account = account_in(all, head);
  if (verify) check_sums(all, account);
  return Snapshot{std::move(account), std::move(view)};
}

}  // namespace megalith
