// The approximate index of a database's chunks: one rank builds it, all ranks search it.
#pragma once
#include <memory>

#include "data/retro/chunk_database.h"
#include "data/retro/point_index.h"

namespace megalith {

struct IndexPlan {
  PointIndexConfig config = {};
  i64 point_size = 512;  // of bag_sketch.h
  i64 chunk_length = 64;
  i64 learned = 1 << 18;  // at most this many chunks, evenly spaced, are training points
};

std::unique_ptr<PointIndex> index_chunks(const ChunkDatabase& database, const IndexPlan& plan);

}  // namespace megalith
