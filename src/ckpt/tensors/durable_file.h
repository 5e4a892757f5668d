// A file that is on the disk when its writer says so. Its writes bypass the page cache if that is faster.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "ckpt/tensors/files.h"

namespace megalith {

class Helper;

// A new file, written sequentially. Data counts as written only after sync() returned.
//
// Data is collected in one of a few aligned buffers while threads write the others, several at once. Writes bypass the
// page cache where the file system allows it: the copy into the cache would take longer than the disk. A file that fits
// into one buffer is written at the end, without a thread.
class DurableFile {
 public:
  // `room`: the expected size of the file, or an upper bound. The disk allocates it before the first write. Writes that
  // extend a file are serialised; those within its allocation are not.
  explicit DurableFile(std::string path, StepHook hook = {}, i64 room = 0);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;
  void write(std::span<const std::byte> bytes);
  void sync();                                   // fsync and close
  u64 checksum() const { return sum_.value(); }  // xxh64 of everything written so far
  i64 size() const { return size_; }

  static constexpr std::size_t kBufferBytes = std::size_t{2} << 20;
  static constexpr int kBuffers = 4;
  static constexpr i64 kMemory = kBuffers * i64{kBufferBytes};  // of a file that is being written

 private:
  struct Buffers;
  std::span<std::byte> filling();  // the whole buffer that is being filled
  void hand_over();                // to the thread that writes it
  void make_room();
  void put(std::span<const std::byte> bytes, i64 position);  // may be called by several threads at once
  void set_direct(bool on);

  std::string path_;
  StepHook hook_;
  int fd_ = -1;
  i64 size_ = 0, room_;
  std::atomic<bool> is_direct_ = false;  // past the page cache
  std::size_t filled_ = 0;               // bytes of the buffer
  int turn_ = 0;                         // the buffer that is being filled
  std::unique_ptr<Buffers> buffers_;
  Xxh64 sum_;
  std::array<std::unique_ptr<Helper>, kBuffers> writers_;  // of each buffer
};

}  // namespace megalith
