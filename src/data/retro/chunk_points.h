// Points of a database's chunks.
#pragma once
#include <vector>

#include "data/retro/bag_sketch.h"
#include "data/retro/chunk_database.h"

namespace megalith {

// The points of chunks [begin, end), one row each. Computed by several threads.
std::vector<i16> points_of(const ChunkDatabase& database, i64 begin, i64 end, const BagSketch& sketch);

}  // namespace megalith
