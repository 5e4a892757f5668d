#include "comm/connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace megalith {

void Connection::send(std::string_view frame) {
  const u32 length = u32(frame.size());
  out_.append(reinterpret_cast<const char*>(&length), sizeof length).append(frame);
  flush();
}

void Connection::flush() {
  size_t written = 0;
  while (written < out_.size()) {
    const ssize_t n = ::send(fd(), out_.data() + written, out_.size() - written, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n < 0) {  // the peer closed; frames it sent earlier may still be buffered
      out_.clear();
      return;
    }
    written += size_t(n);
  }
  out_.erase(0, written);
}

void Connection::read() {
  char buffer[65536];
  for (int reads = 0; !is_closed_ && reads < 64; ++reads) {
    const ssize_t n = recv(fd(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0)
      is_closed_ = true;
    else
      in_.append(buffer, size_t(n));
  }
}

std::optional<std::string> Connection::next() {
  read();
  u32 length = 0;
  if (in_.size() < sizeof length) return {};
  std::memcpy(&length, in_.data(), sizeof length);
  if (length > longest_) {
    is_closed_ = true;
    in_.clear();
    return {};
  }
  if (in_.size() < sizeof length + length) return {};
  std::string frame = in_.substr(sizeof length, length);
  in_.erase(0, sizeof length + length);
  return frame;
}

}  // namespace megalith
