// The processes of a run. The control plane exchanges small texts between all ranks. The data plane of CPU ranks sends
// buffers of host memory from rank to rank; all collectives are made of such exchanges (exec/cpu). The watch: if a rank
// dies or stalls, all others exit within seconds, with its number and what it was doing.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "comm/place.h"

namespace megalith {

// Memory that is sent to, or received from, another rank.
struct Piece {
  int peer;
  void* data;  // only read where it is sent
  i64 bytes;
};

// The exit code of a rank that another rank's end stopped. A rank that failed itself has its program's exit code.
inline constexpr int kEndedByOthers = 75;

class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual const Place& place() const = 0;
  int rank() const { return place().rank; }
  int size() const { return place().size; }

  // Each rank's text, by rank. All ranks must call it, in the same order. Texts may be of different lengths.
  virtual std::vector<std::string> all_gather(const std::string& mine) = 0;
  void barrier() { all_gather(""); }
  // Sends each rank's text to rank 0, which returns all by rank. Other ranks return nothing, as soon as they have sent.
  // All ranks must call it, in the same order as all_gather.
  virtual std::vector<std::string> gather(const std::string& mine) = 0;

  // Starts sending and receiving, and returns a ticket. Between two ranks, messages of one tag arrive in the order in
  // which they were sent; both sides give the same size. The memory must not change before wait(). Messages may be
  // empty, or larger than 2 GiB.
  virtual int exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) = 0;
  // Until the ticket's pieces are sent and received. Error, naming doing() and the ranks that were missing, after the
  // timeout of JoinOptions.
  virtual void wait(int ticket) = 0;

  // This rank's activity, for the watch and for errors: "all_gather over tp_kv tp_rep, layer 3 attention". Copied;
  // nullptr: nothing that others wait for.
  virtual void doing(const std::string* what) = 0;

  // Ends all other ranks because of an error here; then this rank must exit too. Returns true if rank 0 has printed the
  // line that names the first failed rank and its error. False without other ranks, or if they cannot be reached: then
  // the caller prints it. An empty text: another rank reports the error, or it is already printed.
  virtual bool failed(const std::string& /*error*/) { return false; }

  // For fault injection: closes the TCP connections for texts and buffers to a rank, or to all ranks (-1).
  virtual void drop_connections(int /*peer*/) {}
};

struct JoinOptions {
  double timeout_seconds = 600;  // of a single wait (--distributed-timeout-minutes)
  double silence_seconds = 3;    // seconds of silence after which a stopped or remote rank counts as dead
};

// Joins the run that the launcher describes. With one rank nothing is started, and no library is initialised. Error if
// the other ranks cannot be reached, or if this build lacks what the launcher needs.
std::unique_ptr<Ranks> join(const Place& place, const JoinOptions& options = {});

}  // namespace megalith
