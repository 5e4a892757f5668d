#include "data/retro/chunk_database.h"

#include <algorithm>

#include "base/check.h"
#include "data/npy.h"

namespace megalith {

static NpyArray array_of(i64 chunks) { return {.descr = "<u4", .rows = chunks, .columns = 3}; }

ChunkDatabase ChunkDatabase::cut(std::shared_ptr<const TokenSource> source, Range documents, i64 chunk_length,
                                 i64 eod) {
  std::vector<u32> chunks;
  check(documents.end < i64{1} << 32, "{} has {} documents: a database can have 2^32", source->name(), documents.end);
  for (i64 d = documents.begin; d < documents.end; ++d) {
    i64 length = source->length(d);
    if (i32 last = 0; length > 0 && eod >= 0) {
      source->read(d, length - 1, {&last, 1});
      if (last == eod) --length;
    }
    for (i64 at = 0; at < length; at += chunk_length)
      chunks.insert(chunks.end(), {u32(d), u32(at), u32(std::min(length, at + chunk_length))});
  }
  check(!chunks.empty(), "{} has no chunks: its documents {} to {} are empty", source->name(), documents.begin,
        documents.end - 1);
  return {std::move(source), std::move(chunks)};
}

ChunkDatabase ChunkDatabase::open(const std::string& path, i64 chunks, std::shared_ptr<const TokenSource> source) {
  const auto file = map_npy(path, array_of(chunks));
  check(file != nullptr, "{} does not have {} chunks: run megalith retro build again", path, chunks);
  ChunkDatabase out{std::move(source), {file, i64(npy_header(array_of(chunks)).size())}};
  for (i64 c = 0; c < out.size(); ++c)
    check(out.document(c) < out.source_->sequences() && out.first(c) < out.end(c) &&
              out.end(c) <= out.source_->length(out.document(c)),
          "{}: chunk {} is tokens {} to {} of document {}, which {} does not have: run megalith retro build again",
          path, c, out.first(c), out.end(c), out.document(c), out.source_->name());
  return out;
}

void ChunkDatabase::save(const std::string& path) const { save_npy(path, array_of(size()), chunks_.all()); }

std::vector<i32> ChunkDatabase::tokens(i64 chunk) const {
  std::vector<i32> out(std::size_t(end(chunk) - first(chunk)));
  source_->read(document(chunk), first(chunk), out);
  return out;
}

void ChunkDatabase::read(i64 chunk, i64 count, i32 pad, std::span<i32> out) const {
  i64 last = chunk;
  while (last + 1 < std::min(size(), chunk + count) && document(last + 1) == document(chunk)) ++last;
  const auto length = std::size_t(std::min(i64(out.size()), end(last) - first(chunk)));
  source_->read(document(chunk), first(chunk), out.first(length));
  std::ranges::fill(out.subspan(length), pad);
}

}  // namespace megalith
