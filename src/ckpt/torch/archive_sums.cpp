#include "ckpt/torch/archive_sums.h"

#include <atomic>

#include "base/in_parallel.h"

namespace megalith {

void ArchiveSums::verify(const Share& share) const {
  struct Item {
    const TorchZip& archive;
    const ZipRecord& record;
  };
  i64 total = 0;
  for (const TorchZip& archive : archives_)
    for (const ZipRecord& record : archive.records()) total += record.size;
  // One stretch of all bytes for each: a record is its that it begins in.
  const i64 stretch = total / share.of + 1;
  std::vector<Item> mine;
  i64 begin = 0;
  for (const TorchZip& archive : archives_)
    for (const ZipRecord& record : archive.records()) {
      if (begin / stretch == share.rank) mine.push_back({archive, record});
      begin += record.size;
    }
  constexpr int kThreads = 4;
  std::atomic<std::size_t> next = 0;
  in_parallel(kThreads, [&](int) {
    for (std::size_t i; (i = next++) < mine.size();) mine[i].archive.verify(mine[i].record);
  });
}

}  // namespace megalith
