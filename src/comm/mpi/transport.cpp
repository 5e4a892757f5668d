// Ranks over MPI. Only this file and version.cpp include mpi.h. All calls are nonblocking and polled. A rank that
// blocks inside MPI could not time out. It would also keep the core from the rank that it waits for.
#include "comm/transport.h"

#include <mpi.h>

#include <algorithm>
#include <list>
#include <map>

#include "base/check.h"

namespace megalith {
namespace {

void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("MPI could not {}: {}", what, text);
}

constexpr int kMailTag = 0;  // exchanges use their tag + 1

// The messages of one exchange().
struct Exchange {
  struct Message {
    int peer, bytes;
    bool is_received;
  };
  std::vector<Message> messages;
  std::vector<MPI_Request> requests;  // null once finished
};

struct Letter {
  std::string text;
  MPI_Request request = MPI_REQUEST_NULL;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(const Place& place, i64 chunk_bytes) : chunk_bytes_(chunk_bytes) {
    int begun = 0, given = 0, rank = 0, size = 0;
    MPI_Initialized(&begun);
    check(!begun, "MPI is in use already: a process joins its run once");
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given), "start");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(
        size == place.size && rank == place.rank,
        "{} says rank {} of {}, but MPI sees rank {} of {}: start with the mpirun of the MPI that this was built with "
        "(Open MPI), or with srun --mpi=pmix",
        place.launcher, place.rank, place.size, rank, size);
    check(given >= MPI_THREAD_SERIALIZED, "this MPI serves one thread only: install one with thread support");
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "make a communicator");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    int* largest = nullptr;
    int found = 0;
    MPI_Comm_get_attr(comm_, MPI_TAG_UB, &largest, &found);
    if (found) largest_tag_ = *largest - 1;
  }

  void send(int peer, std::string text) override {
    Letter& letter = outgoing_.emplace_back();
    letter.text = std::move(text);
    check(i64(letter.text.size()) <= kMessageBytes, "a text of {} bytes is too long for rank {}: at most {}",
          letter.text.size(), peer, kMessageBytes);
    check_mpi(MPI_Isend(letter.text.data(), int(letter.text.size()), MPI_BYTE, peer, kMailTag, comm_, &letter.request),
              "send a text");
  }

  bool receive(int peer, std::string& text) override {
    sent();
    int here = 0, bytes = 0;
    MPI_Message message;
    MPI_Status status;
    check_mpi(MPI_Improbe(peer, kMailTag, comm_, &here, &message, &status), "look for a text");
    if (!here) return false;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    text.resize(size_t(bytes));
    check_mpi(MPI_Mrecv(text.data(), bytes, MPI_BYTE, &message, &status), "receive a text");
    return true;
  }

  bool sent() override {
    outgoing_.remove_if([](Letter& letter) {
      int done = 0;
      check_mpi(MPI_Test(&letter.request, &done, MPI_STATUS_IGNORE), "send a text");
      return done != 0;
    });
    return outgoing_.empty();
  }

  int exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) override {
    check(tag >= 0 && tag <= largest_tag_ - 1, "exchange: tag {} is not from 0 to {}", tag, largest_tag_ - 1);
    Exchange& e = exchanges_[next_ticket_];
    for (const Piece& p : receives) post(e, p, tag + 1, true);
    for (const Piece& p : sends) post(e, p, tag + 1, false);
    return next_ticket_++;
  }

  bool done(int ticket) override {
    const auto at = exchanges_.find(ticket);
    if (at == exchanges_.end()) return true;
    Exchange& e = at->second;
    const int n = int(e.requests.size());
    int finished = 0;
    finished_.resize(size_t(n));
    statuses_.resize(size_t(n));
    const int code = MPI_Testsome(n, e.requests.data(), &finished, finished_.data(), statuses_.data());
    if (code != MPI_ERR_IN_STATUS) check_mpi(code, "exchange pieces");
    for (int i = 0; finished != MPI_UNDEFINED && i < finished; ++i)
      check_finished(e.messages[size_t(finished_[i])], statuses_[size_t(i)], code);
    if (!std::ranges::all_of(e.requests, [](MPI_Request r) { return r == MPI_REQUEST_NULL; })) return false;
    exchanges_.erase(at);
    return true;
  }

  std::vector<int> missing(int ticket) const override {
    std::vector<int> peers;
    const Exchange& e = exchanges_.at(ticket);
    for (size_t i = 0; i < e.requests.size(); ++i)
      if (e.requests[i] != MPI_REQUEST_NULL) peers.push_back(e.messages[i].peer);
    std::ranges::sort(peers);
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    return peers;
  }

  void close() override {
    MPI_Comm_free(&comm_);
    check_mpi(MPI_Finalize(), "end");
  }

 private:
  // Messages between two ranks arrive in the order of their posts, so chunks need no numbers.
  void post(Exchange& e, const Piece& p, int tag, bool is_received) {
    for (i64 at = 0; at < p.bytes; at += chunk_bytes_) {
      const int bytes = int(std::min(chunk_bytes_, p.bytes - at));
      char* data = static_cast<char*>(p.data) + at;
      e.messages.push_back({p.peer, bytes, is_received});
      MPI_Request& request = e.requests.emplace_back();
      if (is_received)
        check_mpi(MPI_Irecv(data, bytes, MPI_BYTE, p.peer, tag, comm_, &request), "receive");
      else
        check_mpi(MPI_Isend(data, bytes, MPI_BYTE, p.peer, tag, comm_, &request), "send");
    }
  }

  static void check_finished(const Exchange::Message& m, const MPI_Status& status, int code) {
    if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING) {
      int kind = 0;
      MPI_Error_class(status.MPI_ERROR, &kind);
      check(kind != MPI_ERR_TRUNCATE, "exchange: rank {} sent more than the {} bytes expected of it", m.peer, m.bytes);
      check_mpi(status.MPI_ERROR, "exchange pieces");
    }
    if (!m.is_received) return;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    check(bytes == m.bytes, "exchange: rank {} sent {} bytes instead of {}", m.peer, bytes, m.bytes);
  }

  const i64 chunk_bytes_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int largest_tag_ = 32767;  // what every MPI has
  std::list<Letter> outgoing_;
  std::map<int, Exchange> exchanges_;
  int next_ticket_ = 0;
  std::vector<int> finished_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(const Place& place, i64 chunk_bytes) {
  return std::make_unique<MpiTransport>(place, chunk_bytes);
}

}  // namespace megalith
