#include "data/retro/chunk_points.h"

#include "base/threads.h"

namespace megalith {

std::vector<i16> points_of(const ChunkDatabase& database, i64 begin, i64 end, const BagSketch& sketch) {
  std::vector<i16> out(std::size_t((end - begin) * sketch.size()));
  parallel_for(end - begin, 16, [&](i64 i) {
    sketch.make(database.tokens(begin + i),
                std::span(out).subspan(std::size_t(i * sketch.size()), std::size_t(sketch.size())));
  });
  return out;
}

}  // namespace megalith
