#include "resume/snapshot_slot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>

#include "base/in_parallel.h"
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
    check(n > 0, "the agent's memory for snapshots is full: {}", n < 0 ? std::strerror(errno) : "no room");
    bytes = bytes.subspan(size_t(n)), at += n;
  }
}

// The file, mapped into memory. Writes through the file system would be serialized between threads.
class SlotMemory {
 public:
  SlotMemory(int fd, i64 bytes) : fd_(fd), bytes_(bytes) {
    struct stat s {};
    check(fstat(fd, &s) == 0 && (s.st_size >= bytes || ftruncate(fd, bytes) == 0),
          "the agent's memory for snapshots is full: {}", std::strerror(errno));
    void* p = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(p != MAP_FAILED, "the agent's memory for snapshots cannot be mapped: {}", std::strerror(errno));
    memory_ = static_cast<std::byte*>(p);
  }
  ~SlotMemory() { munmap(memory_, size_t(bytes_)); }
  SlotMemory(const SlotMemory&) = delete;
  SlotMemory& operator=(const SlotMemory&) = delete;

  // Makes the system allocate pages before they are touched: if memory is short, a touch would kill the process. With
  // madvise several threads allocate at the same time; fallocate, for older systems, is serialized.
  std::span<std::byte> take(i64 at, i64 bytes) {
    constexpr i64 kPage = 4096;
    const i64 begin = at / kPage * kPage;
    if (madvise(memory_ + begin, size_t(at + bytes - begin), MADV_POPULATE_WRITE) == 0)
      return {memory_ + at, size_t(bytes)};
    int status = 0;
    while ((status = fallocate(fd_, 0, at, bytes)) != 0 && errno == EINTR) continue;
    check(status == 0, "the agent's memory for snapshots is full: {}", std::strerror(errno));
    return {memory_ + at, size_t(bytes)};
  }

 private:
  int fd_;
  i64 bytes_;
  std::byte* memory_ = nullptr;
};

[[noreturn]] void fail_damaged(const std::string& what) {
  throw DamagedCheckpoint("a snapshot in memory is damaged: " + what);
}

// Where `size` bytes are, as the head says. False: no snapshot.
bool is_finished(const SlotHead& head, i64 size) {
  if (head.magic == 0 && head.own_sum == 0) return false;
  if (head.magic != SlotHead::kMagic || head.own_sum != head.sum()) fail_damaged("its head");
  if (head.account_at < kSlotLine || head.account_at > size || head.account_bytes > size - head.account_at)
    fail_damaged("its manifest is outside of the slot");
  return true;
}

ManifestFile account_from(std::span<const std::byte> bytes, const SlotHead& head) {
  if (xxh64(bytes) != head.account_sum) fail_damaged("its manifest");
  return parse_manifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "a snapshot", false);
}

// The unit of work of a thread: a chunk of a block, with its own checksum.
struct SlotChunk {
  size_t tensor, block, chunk;
};

// The first error in any thread stops the others too.
void for_slot_chunks(const std::vector<SlotChunk>& chunks, int threads,
                     const std::function<void(const SlotChunk&)>& f) {
  std::atomic<size_t> next = 0;
  in_parallel(int(std::clamp<i64>(i64(chunks.size()) / 4, 1, std::max(threads, 1))), [&](int) {
    try {
      for (size_t i; (i = next++) < chunks.size();) f(chunks[i]);
    } catch (...) {
      next = chunks.size();
      throw;
    }
  });
}

// Padding bytes are zero, so a flipped bit there is also detected.
void check_gaps(std::span<const std::byte> all, std::vector<std::pair<i64, i64>> parts) {
  SlotHead head;
  std::memcpy(&head, all.data(), sizeof head);
  parts.emplace_back(head.account_at, head.account_at + head.account_bytes);
  std::ranges::sort(parts);
  i64 end = sizeof head;
  for (const auto& [begin, next_end] : parts) {
    const auto gap = all.subspan(size_t(end), size_t(std::max<i64>(begin - end, 0)));
    if (std::ranges::any_of(gap, [](std::byte b) { return b != std::byte{}; }))
      fail_damaged("the padding between tensors");
    end = next_end;
  }
}

// Copies elements [begin, begin + n) of a tensor to `out`, and returns their checksum.
u64 put_elements(const SaveTensor& t, i64 begin, i64 n, std::span<std::byte> out) {
  const i64 size = size_of(t.dtype);
  if (t.fill)
    t.fill(begin, n, out.data());
  else
    std::memcpy(out.data(), static_cast<const std::byte*>(t.data) + begin * size, size_t(n * size));
  return xxh64(out);
}

}  // namespace

void check_snapshot(const Snapshot& snapshot, int threads) {
  const std::span all = snapshot.view->bytes();
  const std::vector<CheckpointTensor>& tensors = snapshot.account.tensors;
  std::vector<SlotChunk> chunks;
  std::vector<std::pair<i64, i64>> parts;
  for (size_t t = 0; t < tensors.size(); ++t)
    for (size_t b = 0; b < tensors[t].blocks.size(); ++b) {
      const TensorBlock& block = tensors[t].blocks[b];
      const i64 bytes = count(block.shape) * size_of(tensors[t].dtype);
      const auto at = parse_count(block.key);
      if (!at || *at > i64(all.size()) || bytes > i64(all.size()) - *at)
        fail_damaged(tensors[t].name + " lies outside");
      parts.emplace_back(*at, *at + bytes);
      for (i64 c = 0; c * block.chunk_bytes < bytes; ++c) chunks.push_back({t, b, size_t(c)});
    }
  check_gaps(all, std::move(parts));
  for_slot_chunks(chunks, threads, [&](const SlotChunk& c) {
    const TensorBlock& block = tensors[c.tensor].blocks[c.block];
    const i64 bytes = count(block.shape) * size_of(tensors[c.tensor].dtype), begin = i64(c.chunk) * block.chunk_bytes;
    const std::span data =
        all.subspan(size_t(*parse_count(block.key) + begin), size_t(std::min(block.chunk_bytes, bytes - begin)));
    if (xxh64(data) != block.checksums[c.chunk])
      fail_damaged(fmt::format("tensor {}, chunk {}", tensors[c.tensor].name, c.chunk));
  });
}

SnapshotView::SnapshotView(int fd) {
  struct stat s {};
  check(fstat(fd, &s) == 0, "the agent's memory for snapshots cannot be mapped: {}", std::strerror(errno));
  if (s.st_size == 0) return;
  void* p = mmap(nullptr, size_t(s.st_size), PROT_READ, MAP_SHARED, fd, 0);
  check(p != MAP_FAILED, "the agent's memory for snapshots cannot be mapped: {}", std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(p), size_t(s.st_size)};
}

SnapshotView::~SnapshotView() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void make_slot_room(int fd, i64 bytes, int threads, const std::atomic<bool>& is_over) {
  struct stat s {};
  if (fstat(fd, &s) != 0 || s.st_size > 0 || bytes == 0) return;
  SlotMemory memory(fd, bytes);
  std::atomic<i64> next = 0;
  in_parallel(threads, [&](int) {
    for (i64 at; (at = next.fetch_add(kChunkBytes)) < bytes && !is_over;)
      memory.take(at, std::min(kChunkBytes, bytes - at));
  });
}

void write_snapshot(int fd, const Manifest& manifest, std::span<const SaveTensor> tensors, int threads) {
  const auto put_head = [&](const SlotHead& head) { put(fd, std::as_bytes(std::span(&head, 1)), 0); };
  put_head({});
  ManifestFile file{.manifest = manifest, .tensors = {}};
  std::unordered_map<std::string, size_t> index;
  std::vector<SlotChunk> chunks;
  std::vector<i64> begins;             // offset of each tensor's block
  std::vector<std::vector<u64>> sums;  // likewise
  i64 at = kSlotLine;
  for (const SaveTensor& t : tensors) {
    const i64 of_chunk = kChunkBytes / size_of(t.dtype);
    begins.push_back(at), sums.emplace_back(size_t((count(t.shape) + of_chunk - 1) / of_chunk));
    for (size_t c = 0; c < sums.back().size(); ++c) chunks.push_back({sums.size() - 1, 0, c});
    at = aligned(at + bytes_of(t));
  }
  SlotMemory memory(fd, at);
  constexpr i64 kHead = sizeof(SlotHead);
  std::ranges::fill(memory.take(kHead, kSlotLine - kHead), std::byte{});
  for (size_t i = 0; i < tensors.size(); ++i)
    if (const i64 end = begins[i] + bytes_of(tensors[i]); end < aligned(end))
      std::ranges::fill(memory.take(end, aligned(end) - end), std::byte{});
  for_slot_chunks(chunks, threads, [&](const SlotChunk& c) {
    const SaveTensor& t = tensors[c.tensor];
    const i64 size = size_of(t.dtype), of_chunk = kChunkBytes / size, begin = i64(c.chunk) * of_chunk;
    const i64 n = std::min(of_chunk, count(t.shape) - begin);
    sums[c.tensor][c.chunk] = put_elements(t, begin, n, memory.take(begins[c.tensor] + begin * size, n * size));
  });
  for (size_t i = 0; i < tensors.size(); ++i) {
    const SaveTensor& t = tensors[i];
    const auto [it, added] = index.emplace(t.name, file.tensors.size());
    if (added) file.tensors.push_back({t.name, t.dtype, global_shape(t), {}});
    file.tensors[it->second].blocks.push_back({.file = "memory",
                                               .key = std::to_string(begins[i]),
                                               .offset = block_offset(t),
                                               .shape = t.shape,
                                               .checksums = std::move(sums[i])});
  }
  const std::string account = format_manifest(file);
  put(fd, std::as_bytes(std::span(account)), at);
  SlotHead head{
      .magic = SlotHead::kMagic, .account_at = at, .account_bytes = i64(account.size()), .account_sum = xxh64(account)};
  head.own_sum = head.sum();
  put_head(head);
}

std::optional<Snapshot> read_snapshot(int fd) {
  auto view = std::make_shared<const SnapshotView>(fd);
  SlotHead head;
  const std::span all = view->bytes();
  if (all.size() < sizeof head) return {};
  std::memcpy(&head, all.data(), sizeof head);
  if (!is_finished(head, i64(all.size()))) return {};
  ManifestFile account = account_from(all.subspan(size_t(head.account_at), size_t(head.account_bytes)), head);
  return Snapshot{std::move(account), std::move(view)};
}

std::optional<Snapshot> read_far_snapshot(std::shared_ptr<const FarSlot> slot) {
  SlotHead head;
  slot->read(0, std::as_writable_bytes(std::span(&head, 1)));
  constexpr i64 kNoLimit = std::numeric_limits<i64>::max(), kMostOfAccount = i64{1} << 32;
  if (!is_finished(head, kNoLimit)) return {};
  if (head.account_bytes > kMostOfAccount) fail_damaged("its manifest");
  std::vector<std::byte> account(size_t(head.account_bytes));
  slot->read(head.account_at, account);
  return Snapshot{account_from(account, head), nullptr, std::move(slot)};
}

void copy_snapshot(int fd, std::span<SlotLink> to, int file) {
  const SnapshotView view(fd);
  SlotHead head;
  const std::span all = view.bytes();
  check(all.size() >= sizeof head, "there is no snapshot to copy");
  std::memcpy(&head, all.data(), sizeof head);
  check(is_finished(head, i64(all.size())), "there is no snapshot to copy");
  const SlotHead none;
  to[0].write(file, 0, std::as_bytes(std::span(&none, 1)));
  write_over(to, file, sizeof head,
             all.subspan(sizeof head, size_t(head.account_at + head.account_bytes) - sizeof head));
  to[0].write(file, 0, std::as_bytes(std::span(&head, 1)));
}

}  // namespace megalith
