// A file from which blocks of elements are read, in any order of its dims.
#pragma once
#include <optional>
#include <string>

#include "base/read_file.h"
#include "base/shape.h"

namespace megalith {

class BlockFile {
 public:
  static constexpr i64 kStretch = i64{4} << 20;  // bytes read at once to pick elements out of

  // `stretches`: buffers for stretches, in blocks of kStretch, and one BlockPool::kBlock. `past_cache`: long data whose
  // order is that of memory bypasses the page cache. Error if the file can't be opened.
  BlockFile(const std::string& path, BlockPool& stretches, bool past_cache);

  const ReadFile& bytes() const { return cached_; }

  // A block of elements. The first is at byte `position` of the file, and at `out`. `from` and `to` are the strides of
  // each dimension in the file and in memory. They count elements of `element` bytes, whose byte order `swapped`
  // reverses. Error if the file has become shorter, or the disk fails.
  struct Block {
    Shape size;
    i64 position;
    const Shape& from;
    std::byte* out;
    const Shape& to;
    i64 element;
    bool swapped = false;
  };
  void read(const Block& block) const;

 private:
  struct Way;
  Way way_of(const Block& block) const;
  static void read_bytes(const ReadFile& file, const Block& block, std::span<std::byte> out);  // from its first on

  BlockPool* stretches_;
  ReadFile cached_;
  std::optional<ReadFile> past_cache_;
};

}  // namespace megalith
