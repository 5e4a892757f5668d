#include "comm/join.h"

#include "base/check.h"

namespace megalith {

std::unique_ptr<Ranks> join_in_chunks(const Place& place, const JoinOptions& options, i64 chunk_bytes) {
  if (place.size == 1) return make_alone(place);
  const bool by_environment = place.launcher == "environment";
  return make_joined(
      place, options,
      by_environment ? make_star_transport(place, options.timeout_seconds) : make_mpi_transport(place, chunk_bytes));
}

std::unique_ptr<Ranks> join(const Place& place, const JoinOptions& options) {
  return join_in_chunks(place, options, kChunkBytes);
}

}  // namespace megalith
