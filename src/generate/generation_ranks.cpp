#include "generate/generation_ranks.h"

#include <cstring>

#include "comm/on_all_ranks.h"
#include "mesh/groups.h"

namespace megalith {

int GenerationRanks::rank_of(int stage) const { return mesh.rank(mesh.at(coord(), groups::pipeline, stage)); }

void GenerationRanks::together(const std::function<void()>& f) const { ranks ? on_all_ranks(*ranks, f) : f(); }

i32 GenerationRanks::agree(i32 token) const {
  if (size() == 1) return token;
  const int chooser = mesh.rank(mesh.at(Coord{}, groups::pipeline, pipeline.schedule.stages - 1));
  const std::vector<std::string> all =
      ranks->all_gather(std::string(reinterpret_cast<const char*>(&token), sizeof token));
  i32 chosen = 0;
  std::memcpy(&chosen, all.at(size_t(chooser)).data(), sizeof chosen);
  return chosen;
}

}  // namespace megalith
