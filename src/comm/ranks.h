// The processes of a run. The control plane: small texts that all give to all. The data plane of CPU ranks: pieces of
// host memory that go from rank to rank; every collective is made of such exchanges (exec/cpu). And the watch: a rank
// that ends or falls silent ends all others within seconds, with its number and what was going on.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "comm/place.h"

namespace megalith {

// Memory that goes to, or comes from, another rank.
struct Piece {
  int peer;
  void* data;  // only read where it is sent
  i64 bytes;
};

// How a rank ends that another one's end brought down; one that failed itself ends as its program says.
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
  // Each rank's text to rank 0 alone, by rank; nothing on the others, which go on as soon as theirs has left. All ranks
  // must call it, in the same order as all_gather.
  virtual std::vector<std::string> gather(const std::string& mine) = 0;

  // Starts sending and receiving, and returns a ticket. Between two ranks, pieces of one tag arrive in the order in
  // which they were sent; a piece's size is the same on both sides. Memory must stay as it is until wait(). Pieces may
  // be larger than 2 GiB, or empty.
  virtual int exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) = 0;
  // Until the ticket's pieces are sent and received. Error, naming doing() and the ranks that were missing, after the
  // timeout of JoinOptions.
  virtual void wait(int ticket) = 0;

  // What this rank is at, for the watch and for errors: "all_gather over tp_kv tp_rep, layer 3 attention". Copied;
  // nullptr: nothing that others wait for.
  virtual void doing(const std::string* what) = 0;

  // Ends all others because of an error here; then this rank must end too. True if rank 0 has written one line, which
  // names the first rank that failed and its error; false, where there are no others or they can't be told: then the
  // caller writes it. Empty: the error is told by another rank, or was told already.
  virtual bool failed(const std::string& /*error*/) { return false; }
};

struct JoinOptions {
  double timeout_seconds = 600;  // of a single wait (--distributed-timeout-minutes)
  double silence_seconds = 3;    // a rank that says nothing for so long is taken for dead
};

// Joins the run that the launcher describes: alone, nothing is started and no library is initialised. Error if the
// others can't be reached, or if this program was built without what the launcher needs.
std::unique_ptr<Ranks> join(const Place& place, const JoinOptions& options = {});

}  // namespace megalith
