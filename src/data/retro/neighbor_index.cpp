#include "data/retro/neighbor_index.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "data/retro/chunk_points.h"

namespace megalith {

namespace {

constexpr i64 kAddedAtOnce = i64{1} << 13;
constexpr double kSecondsBetweenLines = 30;

}  // namespace

std::unique_ptr<PointIndex> index_chunks(const ChunkDatabase& database, const IndexPlan& plan) {
  const BagSketch sketch(plan.point_size, plan.chunk_length);
  const i64 size = database.size(), learned = std::min(size, plan.learned);
  const std::string& name = plan.config.description;
  std::vector<i16> sample;
  for (i64 i = 0; i < learned; ++i) {
    const i64 chunk = size * i / learned;
    const std::vector<i16> point = points_of(database, chunk, chunk + 1, sketch);
    sample.insert(sample.end(), point.begin(), point.end());
  }
  const double begin = steady_seconds();
  std::unique_ptr<PointIndex> index = make_point_index(plan.config, sketch.size(), sample);
  log::say("> index {}: trained with {} chunks in {:.1f} s", name, learned, steady_seconds() - begin);
  double said = steady_seconds();
  for (i64 at = 0; at < size; at += kAddedAtOnce) {
    const i64 end = std::min(size, at + kAddedAtOnce);
    index->add(points_of(database, at, end, sketch));
    if (steady_seconds() - said >= kSecondsBetweenLines || end == size) {
      log::say("> index {}: holds {} of {} chunks", name, end, size);
      said = steady_seconds();
    }
  }
  return index;
}

}  // namespace megalith
