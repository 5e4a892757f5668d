// How ranks share a generation: weights and caches are split over tensor-parallel ranks, and layers over pipeline
// stages. All ranks make the same calls, and get the same tokens.
#pragma once
#include <functional>

#include "comm/ranks.h"
#include "step/stages.h"

namespace megalith {

struct GenerationRanks {
  Ranks* ranks = nullptr;  // nullptr: one rank
  Mesh mesh = {};
  PipelineSpec pipeline = {};  // one micro-batch, one model piece a rank

  int size() const { return ranks ? ranks->size() : 1; }
  Coord coord() const { return size() > 1 ? mesh.coord(ranks->rank()) : Coord{}; }
  // The rank of another stage at the same place in its stage.
  int rank_of(int stage) const;
  bool is_last_stage() const { return pipeline.stage + 1 == pipeline.schedule.stages; }

  // Runs f. If it fails on a rank, it fails on all.
  void together(const std::function<void()>& f) const;
  // The token of the first rank of the last stage. So no rank depends on the rounding of another rank's processor.
  i32 agree(i32 token) const;
};

}  // namespace megalith
