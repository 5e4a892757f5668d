#include "ckpt/tensors/block_file.h"

#include <algorithm>

#include "mesh/block_copy.h"

namespace megalith {
namespace {

constexpr i64 kShort = i64{64} << 10;  // bytes that cost the disk as much as fewer
constexpr i64 kLong = i64{1} << 20;    // bytes that are worth going past the page cache
constexpr i64 kCall = i64{16} << 10;   // bytes that are copied while a call asks the kernel for some
constexpr i64 kFar = 4;                // a gap shorter than this many times its neighbours is read too

void swap_elements(std::span<std::byte> data, i64 element) {
  for (; !data.empty(); data = data.subspan(std::size_t(element))) std::reverse(data.begin(), data.begin() + element);
}

}  // namespace

BlockFile::BlockFile(const std::string& path, BlockPool& stretches, bool past_cache)
    : stretches_(&stretches), cached_(path) {
  if (past_cache) past_cache_.emplace(path, &stretches);
}

// How a block is stored in the file.
struct BlockFile::Way {
  i64 span = 1;      // elements from the first to the last
  i64 run = 1;       // elements that follow each other both there and in memory
  bool fits = true;  // a stretch holds the span, without gaps that are too long to read
  i64 rows = 1;      // else: along the widest dim, as many as one buffer holds
  std::size_t widest = 0;
};

BlockFile::Way BlockFile::way_of(const Block& b) const {
  std::vector<std::size_t> dims;  // of more than one element, by rising steps in the file
  for (std::size_t d = 0; d < b.size.size(); ++d)
    if (b.size[d] > 1) dims.push_back(d);
  std::ranges::stable_sort(dims, {}, [&](std::size_t d) { return b.from[d]; });
  Way w;
  const i64 most = kStretch / b.element;
  for (const std::size_t d : dims) {
    const i64 step = b.from[d];
    const bool far = step > kFar * std::max(w.span, kShort / b.element);
    if (w.run == w.span && step == w.span && b.to[d] == w.span) w.run *= b.size[d];
    w.rows = !w.fits || far ? 1 : step == 0 ? b.size[d] : std::max<i64>(1, (most - w.span) / step + 1);
    w.fits = w.fits && w.rows >= b.size[d];
    w.span += (b.size[d] - 1) * step;
    w.widest = d;
  }
  return w;
}

// One read if the file's order is that of memory. Otherwise it reads full ranges, and picks the wanted elements. If
// that would copy too much, it requests the whole range from the disk, and reads only the wanted runs. Otherwise it
// reads slice by slice along the widest dim.
void BlockFile::read(const Block& b) const {
  const Way w = way_of(b);
  const i64 wanted = count(b.size);
  if (w.run == wanted && w.span == wanted) {
    const bool is_long = wanted * b.element >= kLong;
    return read_bytes(is_long && past_cache_ ? *past_cache_ : cached_, b, {b.out, std::size_t(wanted * b.element)});
  }
  if (w.fits && (w.span - wanted) * b.element <= wanted / w.run * kCall) {
    const BlockPool::Loan memory = stretches_->lend();
    read_bytes(cached_, b, {memory.get(), std::size_t(w.span * b.element)});
    return copy_block(b.size, b.from, memory.get(), b.to, b.out, b.element);
  }
  if (w.fits && w.span * b.element > kShort) cached_.expect(b.position, w.span * b.element);
  Block part = b;
  const i64 rows = w.fits ? 1 : w.rows;
  for (i64 i = 0; i < b.size[w.widest]; i += rows) {
    part.size[w.widest] = std::min(rows, b.size[w.widest] - i);
    part.position = b.position + i * b.from[w.widest] * b.element;
    part.out = b.out + i * b.to[w.widest] * b.element;
    read(part);
  }
}

void BlockFile::read_bytes(const ReadFile& file, const Block& b, std::span<std::byte> out) {
  file.read(b.position, out);
  if (b.swapped) swap_elements(out, b.element);
}

}  // namespace megalith
