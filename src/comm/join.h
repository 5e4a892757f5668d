// The parts of join().
#pragma once
#include <memory>

#include "comm/ranks.h"
#include "comm/transport.h"

namespace megalith {

std::unique_ptr<Ranks> make_alone(const Place& place);
std::unique_ptr<Ranks> make_joined(const Place& place, const JoinOptions& options,
                                   std::unique_ptr<Transport> transport);

// join(), with pieces sent in these ways.
std::unique_ptr<Ranks> join_by(const Place& place, const JoinOptions& options, const LinkWays& ways);

// For a program that keeps its process: no watch, no signals, and nothing ends because of another rank. A wait for a
// lost rank is an Error, at the latest after the timeout. The master's address is that of rank 0.
std::unique_ptr<Ranks> join_unwatched(const Place& place, const JoinOptions& options);

}  // namespace megalith
