// The hosts and GPUs of a run's ranks.
#pragma once
#include <string>
#include <vector>

#include "comm/ranks.h"

namespace megalith {

struct PlaceOfRank {
  int rank = 0;
  std::string host;
  i64 stage = 0;      // pipeline stage
  std::string bus{};  // PCI address of the GPU: "0000:1b:00.0"; empty: no GPU
  int gpu = -1;       // the GPU's number on its host, as NVML and DCGM count; -1: unknown
};

std::string name_of_host();

// Collective: rank 0 gets the places of all ranks, by rank. The other ranks get an empty list.
std::vector<PlaceOfRank> gather_places(Ranks& ranks, const PlaceOfRank& mine);

}  // namespace megalith
