// Communicator groups: the sets of ranks that need an NCCL communicator. Creating one needs all its members at the same
// time. So all ranks agree on the list of all groups first.
#pragma once
#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "graph/relayout_op.h"
#include "plan/plan.h"

namespace megalith::cuda {

// A communicator runs its collectives in order. Collectives that must not wait for each other need different
// communicators.
struct CommunicatorGroup {
  enum Kind : u8 {
    collective,
    between_stages,  // a collective of ranks of several pipeline stages, which have other plans
    pairwise,        // all-to-all: uses memory for each pair of ranks, which other kinds do not need
    link             // from ranks[0] to ranks[1], between pipeline stages
  } kind = collective;
  int lane = 0;            // for a link: its channel
  std::vector<int> ranks;  // by the mesh's numbers, ascending unless it is a link
  auto operator<=>(const CommunicatorGroup&) const = default;
  int find(int rank) const;  // its index in `ranks`; -1 if it is not in the group
  std::string text() const;  // "ranks 0 1 2 3", "ranks 0 to 1"
};

// The communicator of a relayout; none if it moves nothing between ranks.
std::optional<CommunicatorGroup> communicator_group_of(const Relayout& op, const Mesh& mesh, const Coord& coord);
std::vector<CommunicatorGroup> communicator_groups_of(const Plan& plan, const Coord& coord);
// "all_reduce over tp_kv tp_rep, layer 3 attention, ranks 0 1". `tag`: the position in the model.
std::string describe(const Relayout& op, const Mesh& mesh, const CommunicatorGroup& group, const std::string& tag);

// The groups of all ranks, sorted. All ranks must call it. Error if a rank is in a group that it, or another member,
// does not request.
std::vector<CommunicatorGroup> agree(Ranks& ranks, const std::vector<CommunicatorGroup>& mine);

}  // namespace megalith::cuda
