#include "comm/join.h"

#include <cstdlib>

#include "comm/launch_line.h"

namespace megalith {

std::unique_ptr<Ranks> join_by(const Place& place, const JoinOptions& options, const LinkWays& ways) {
  const LaunchLine agent([](const char* name) -> const char* { return std::getenv(name); });
  agent.answers_stack_signal();
  if (place.size == 1) return make_alone(place);
  const bool by_environment = place.launcher == "environment" || place.launcher == "launch";
  auto ranks = make_joined(place, options,
                           by_environment ? make_star_transport(place, options.timeout_seconds, ways)
                                          : make_mpi_transport(place, ways.chunk_bytes));
  agent.joined();
  return ranks;
}

std::unique_ptr<Ranks> join(const Place& place, const JoinOptions& options) { return join_by(place, options, {}); }

}  // namespace megalith
