// Files on disk, with every durable step named. Saving a checkpoint is a sequence of steps (create, write, fsync,
// rename, ...); a hook sees each one before it happens, so that a test can stop the sequence anywhere, as a crash
// would, or let it fail, as a full disk would. All functions throw Error with the path and the system's reason.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

struct XXH64_state_s;

namespace megalith {

class Helper;

struct FileStep {
  std::string_view kind;  // mkdir create allocate write truncate fsync rename exchange remove fsync-dir
  std::string path;
  std::string target;  // of rename and exchange
};
using StepHook = std::function<void(const FileStep&)>;

// A new file written from front to back. Nothing counts as written before sync() returned.
//
// Bytes gather in one of a few aligned buffers while threads write the others, several at once, past the page cache
// where the file system allows it: there the copy into the cache would take longer than the disk. A file that fits into
// one buffer is written at the end, with no thread.
class DurableFile {
 public:
  // `room`: bytes that the file will have, or at most about as many; the disk sets them aside before the first is
  // written. Writes that make a file longer have to wait for one another, those into its room do not.
  explicit DurableFile(std::string path, StepHook hook = {}, i64 room = 0);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;
  void write(std::span<const std::byte> bytes);
  void sync();           // fsync and close
  u64 checksum() const;  // xxh64 of everything written so far
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
  std::unique_ptr<XXH64_state_s, void (*)(XXH64_state_s*)> hash_;
  std::array<std::unique_ptr<Helper>, kBuffers> writers_;  // of each buffer
};

// xxh64 of bytes that come in pieces.
class Xxh64 {
 public:
  Xxh64();
  void add(std::span<const std::byte> bytes);
  u64 value() const;

 private:
  std::unique_ptr<XXH64_state_s, void (*)(XXH64_state_s*)> state_;
};

u64 xxh64(std::span<const std::byte> bytes);
u64 xxh64(std::string_view text);
// Of a file's bytes. These two throw what ReadFile throws.
u64 xxh64_of_file(const std::string& path);
std::string read_text(const std::string& path);

void write_text(const std::string& path, std::string_view text, const StepHook& hook);  // new file, fsynced
// Its name lasts once its parent is synced; make_directories does that, and makes what is missing above.
void make_directory(const std::string& path, const StepHook& hook);
void make_directories(const std::string& path, const StepHook& hook);
void rename_path(const std::string& from, const std::string& to, const StepHook& hook);  // replaces a file `to`
// Swaps two directories in one step; false where the file system can't.
bool exchange_paths(const std::string& a, const std::string& b, const StepHook& hook);
void sync_directory(const std::string& path, const StepHook& hook);
void remove_tree(const std::string& path, const StepHook& hook);  // file or directory; absent is fine

// Written beside `path`, fsynced, renamed over it, directory fsynced: readers see the old text or the new, never a
// part.
void replace_text(const std::string& path, std::string_view text, const StepHook& hook);

}  // namespace megalith
