// Chunks of a database as points.
#pragma once
#include <vector>

#include "data/retro/bag_sketch.h"
#include "data/retro/chunk_database.h"

namespace megalith {

// Of chunks [begin, end), row after row. Threads share them.
std::vector<i16> points_of(const ChunkDatabase& database, i64 begin, i64 end, const BagSketch& sketch);

}  // namespace megalith
