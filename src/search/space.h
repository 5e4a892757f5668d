// All ways to share a run out: what the user's flags fix, and the values that are tried for the rest.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "search/choice.h"

namespace megalith::search {

struct Space {
  std::vector<i64> tp, pp, cp, ep, micro_batch;
  std::vector<i64> vpp, etp;  // empty: what divides
  std::vector<CpCommType> cp_comm;
  std::vector<bool> zero_bubble, balanced, sharded;
  std::vector<Recompute> recompute;
  bool offload = false;
};

// Of options as the user gave them. `most_tp`: tensor-parallel ranks beyond it are not tried unless they are given.
Space space_of(const Options& base, i64 gpus, i64 most_tp);

// Why a choice cannot be, by reason: how many, and the first of them.
struct Refused {
  i64 count = 0;
  std::string example;
};
using Reasons = std::map<std::string, Refused>;

// Those of the space whose sizes divide, in one order. Others are counted. Rules of single flags are not held yet.
std::vector<Choice> choices_of(const Space& space, const Options& base, i64 gpus, Reasons& reasons);

}  // namespace megalith::search
