// Transfers bytes between the ranks of a run. Nothing here waits: callers poll, with their own deadlines
// (comm/joined.cpp). One thread at a time.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/place.h"
#include "comm/ranks.h"

namespace megalith {

// For the control plane: texts of any length, in order between two ranks.
class Mail {
 public:
  virtual ~Mail() = default;

  virtual void send(int peer, std::string text) = 0;
  virtual bool receive(int peer, std::string& text) = 0;  // false: nothing has arrived yet
  virtual bool sent() = 0;                                // all of it has been sent
};

class Transport : public Mail {
 public:
  // As Ranks::exchange; pieces never go to this rank itself.
  virtual int exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) = 0;
  virtual bool done(int ticket) = 0;                       // moves things on; a ticket that is done is forgotten
  virtual std::vector<int> missing(int ticket) const = 0;  // the ranks that a ticket's pieces wait for, ascending

  // A file descriptor that is readable when a poll may make progress. -1: there is none.
  virtual int wake_fd() const { return -1; }

  virtual void drop(int /*peer*/) {}  // as Ranks::drop_connections

  // Gives the library back. Only where all ranks end well: it may wait for the others.
  virtual void close() = 0;
};

inline constexpr i64 kMessageBytes = i64{1} << 30;  // larger pieces travel as several messages of this size

// With MPI, started here. Error if MPI has other ranks than the launcher, or if this build has no MPI.
std::unique_ptr<Transport> make_mpi_transport(const Place& place, i64 chunk_bytes);

// How pieces travel by TCP; other values than these are for tests.
struct LinkWays {
  i64 chunk_bytes = kMessageBytes;
  bool reads_near = true;  // reads large pieces out of the memory of ranks of the same host
};

// TCP: texts go through rank 0 at the master address, buffers directly between two ranks. Error if ranks are missing
// after the timeout.
std::unique_ptr<Transport> make_star_transport(const Place& place, double timeout_seconds, const LinkWays& ways);

}  // namespace megalith
