#include "comm/join.h"

namespace megalith {

std::unique_ptr<Ranks> join_by(const Place& place, const JoinOptions& options, const LinkWays& ways) {
  if (place.size == 1) return make_alone(place);
  const bool by_environment = place.launcher == "environment";
  return make_joined(place, options,
                     by_environment ? make_star_transport(place, options.timeout_seconds, ways)
                                    : make_mpi_transport(place, ways.chunk_bytes));
}

std::unique_ptr<Ranks> join(const Place& place, const JoinOptions& options) { return join_by(place, options, {}); }

}  // namespace megalith
