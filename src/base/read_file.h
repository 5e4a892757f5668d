// A file whose parts are read where they are wanted, by any thread, into memory of the caller's. Unlike a mapped one it
// adds nothing to the process's memory: how much a touched page brings in is the kernel's choice. And an I/O error is
// an Error here, where it would end the process.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/block_pool.h"
#include "base/dtype.h"

namespace megalith {

class ReadFile {
 public:
  // With `blocks`, which must outlive it: by way of that memory straight from the disk, past the page cache, where the
  // file system allows it. That is faster for bytes that nobody on this host reads again. As reading, this throws
  // DamagedFile (also if it is not a regular file) or UnreachableFile, see base/read_error.h.
  explicit ReadFile(std::string path, BlockPool* blocks = nullptr);
  ~ReadFile();
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;

  const std::string& path() const { return path_; }
  i64 size() const { return size_; }
  void read(i64 offset, std::span<std::byte> out) const;  // DamagedFile if they are not all there
  void expect(i64 offset, i64 bytes) const;               // parts of these will be read: the disk starts on all of them

 private:
  i64 read_some(i64 offset, std::span<std::byte> out) const;  // bytes, at least one
  i64 read_blocks(i64 offset, std::span<std::byte> out) const;
  [[noreturn]] void throw_truncated(i64 offset, std::size_t bytes) const;

  std::string path_;
  int file_ = -1;
  BlockPool* blocks_;  // none: through the page cache
  i64 size_ = 0;
};

// A stretch of a file that counts from its own begin, such as an archive in a larger one. The file must outlive it.
struct FileRange {
  const ReadFile* file;
  i64 begin, size;

  FileRange(const ReadFile& of, i64 from, i64 bytes) : file(&of), begin(from), size(bytes) {}
  explicit FileRange(const ReadFile& of) : FileRange(of, 0, of.size()) {}
  void read(i64 offset, std::span<std::byte> out) const { file->read(begin + offset, out); }
  std::vector<std::byte> bytes(i64 offset, i64 n) const;  // Error if they are not in the stretch
};

}  // namespace megalith
