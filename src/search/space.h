// All ways to distribute a run: the sizes that the user's flags fix, and the values to try for the others.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "search/choice.h"

namespace megalith::search {

struct Space {
  std::vector<i64> tp, pp, cp, ep, micro_batch;
  std::vector<i64> vpp, etp;  // empty: all that divide
  std::vector<CpCommType> cp_comm;
  std::vector<bool> zero_bubble, balanced, sharded, tp_overlap;
  std::vector<Recompute> recompute;
  bool offload = false;
  i64 site_gpus = 0;  // a replica is within this many GPUs; 0: no sites
};

// `base`: options as the user gave them. `most_tp`: larger tensor-parallel sizes are tried only if they are given.
Space space_of(const Options& base, i64 gpus, i64 most_tp);

// For each reason of a refusal: the number of choices, and the first of them.
struct Refused {
  i64 count = 0;
  std::string example;
};
using Reasons = std::map<std::string, Refused>;

struct Unfit {
  Choice choice;  // sizes that are chosen later have their defaults
  std::string reason;
};

// The choices of the space whose sizes divide, in a fixed order. It counts the others, and adds them to `unfit` if it
// is given. It does not check the rules of single flags.
std::vector<Choice> choices_of(const Space& space, const Options& base, i64 gpus, Reasons& reasons,
                               std::vector<Unfit>* unfit = nullptr);

}  // namespace megalith::search
