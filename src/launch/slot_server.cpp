#include "launch/slot_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "comm/token.h"

namespace megalith::launch {
namespace {

// All bytes to or from a file. False if the system gives or takes no more.
template <class F>
bool move_all(size_t bytes, F&& move) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = move(done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += size_t(n);
  }
  return true;
}

}  // namespace

SlotServer::SlotServer(const std::string& host, SnapshotMemory& memory)
    : memory_(memory), token_(random_token()), listener_(listen_at(host, 0)), thread_([this] { welcome(); }) {}

SlotServer::~SlotServer() {
  is_over_ = true;
  shutdown(listener_.socket.fd(), SHUT_RDWR);  // wakes the thread
  thread_.join();
  for (Peer& p : peers_) shutdown(p.socket.fd(), SHUT_RDWR);
  for (Peer& p : peers_) p.thread.join();
}

void SlotServer::welcome() {
  constexpr size_t kMostPeers = 4096;
  constexpr int kTickMilliseconds = 200;
  while (!is_over_) {
    pollfd wait{listener_.socket.fd(), POLLIN, 0};
    poll(&wait, 1, kTickMilliseconds);
    peers_.remove_if([](Peer& p) {
      if (p.is_over) p.thread.join();
      return bool(p.is_over);
    });
    while (Socket s = listener_.accept()) {
      if (peers_.size() >= kMostPeers) continue;  // closes it
      Peer& p = peers_.emplace_back();
      p.socket = std::move(s);
      try {
        p.thread = std::thread([this, &p] { serve(p); });
      } catch (const std::exception&) {  // no thread: the peer goes on without this node
        peers_.pop_back();
      }
    }
  }
}

void SlotServer::serve(Peer& p) {
  constexpr double kToGreet = 10, kToSend = 60, kNoLimit = -1;
  try {
    std::string token(token_.size(), ' ');
    std::vector<std::byte> bytes;
    SlotRequest request;
    bool goes_on = receive_all(p.socket, std::as_writable_bytes(std::span(token)), kToGreet) && token == token_;
    while (goes_on && !is_over_ && receive_all(p.socket, std::as_writable_bytes(std::span(&request, 1)), kNoLimit)) {
      goes_on = false;
      if (request.bytes < 0 || request.bytes > kMostSlotBytes || request.at < 0) break;
      bytes.resize(size_t(request.bytes));
      if (request.kind == SlotRequest::write && !receive_all(p.socket, bytes, kToSend)) break;
      goes_on = answer(p.socket, request, bytes);
    }
  } catch (const std::exception&) {  // short of memory: the peer sees an end
  }
  shutdown(p.socket.fd(), SHUT_RDWR);
  p.is_over = true;
}

bool SlotServer::answer(const Socket& socket, const SlotRequest& r, std::vector<std::byte>& bytes) {
  constexpr double kToSend = 60;
  SlotAnswer a;
  const int fd = r.kind == SlotRequest::copies_of ? -1 : memory_.file(r.file);
  const auto at = [&](size_t done) { return off_t(r.at) + off_t(done); };
  if (r.kind == SlotRequest::copies_of) {
    a.file = memory_.copies_of(int(r.at));
    a.bytes = a.file < 0 ? -1 : 0;
  } else if (r.kind == SlotRequest::write && fd >= 0 && memory_.is_copy(r.file) && sum_of(bytes) == r.sum) {
    const auto put = [&](size_t done) { return pwrite(fd, bytes.data() + done, bytes.size() - done, at(done)); };
    if (move_all(bytes.size(), put)) a.bytes = 0;
  } else if (r.kind == SlotRequest::read && fd >= 0) {
    const auto get = [&](size_t done) { return pread(fd, bytes.data() + done, bytes.size() - done, at(done)); };
    if (move_all(bytes.size(), get)) a.bytes = r.bytes, a.sum = sum_of(bytes);
  }
  if (!send_all(socket, std::as_bytes(std::span(&a, 1)), kToSend)) return false;
  return r.kind != SlotRequest::read || a.bytes < 0 || send_all(socket, bytes, kToSend);
}

}  // namespace megalith::launch
