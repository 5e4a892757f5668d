// The parts of join().
#pragma once
#include <memory>

#include "comm/ranks.h"
#include "comm/transport.h"

namespace megalith {

std::unique_ptr<Ranks> make_alone(const Place& place);
std::unique_ptr<Ranks> make_joined(const Place& place, const JoinOptions& options,
                                   std::unique_ptr<Transport> transport);

// join(), with pieces above chunk_bytes sent in chunks of that size.
std::unique_ptr<Ranks> join_in_chunks(const Place& place, const JoinOptions& options, i64 chunk_bytes);

}  // namespace megalith
