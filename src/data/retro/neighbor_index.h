// The approximate index of a database's chunks: one rank makes it, all search it.
#pragma once
#include <memory>

#include "data/retro/chunk_database.h"
#include "data/retro/point_index.h"

namespace megalith {

struct IndexPlan {
  PointIndexConfig config = {};
  i64 point_size = 512;  // of bag_sketch.h
  i64 chunk_length = 64;
  i64 learned = 1 << 18;  // chunks that the index learns from, at most: the same number apart
};

std::unique_ptr<PointIndex> index_chunks(const ChunkDatabase& database, const IndexPlan& plan);

}  // namespace megalith
