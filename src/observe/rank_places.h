// Where the ranks of a run are: their hosts and GPUs.
#pragma once
#include <string>
#include <vector>

#include "comm/ranks.h"

namespace megalith {

struct PlaceOfRank {
  int rank = 0;
  std::string host;
  i64 stage = 0;      // of the pipeline
  std::string bus{};  // of the GPU: "0000:1b:00.0"; empty: the rank has none
  int gpu = -1;       // the GPU's number on its host, as NVML and DCGM count; -1: unknown
};

std::string name_of_host();

// Collective: rank 0 gets all places by rank, the others get none.
std::vector<PlaceOfRank> gather_places(Ranks& ranks, const PlaceOfRank& mine);

}  // namespace megalith
