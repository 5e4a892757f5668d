// A socket that carries frames. A frame is a length (4 bytes, little-endian) and that many bytes; users put the frame's
// kind into the first byte. Never blocks: outgoing frames are buffered until the socket takes them.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "comm/socket.h"

namespace megalith {

class Connection {
 public:
  // Of longer frames than this the connection counts as closed.
  Connection(Socket socket, i64 longest_frame) : socket_(std::move(socket)), longest_(longest_frame) {}

  void send(std::string_view frame);
  void flush();                       // writes as much as the socket accepts
  std::optional<std::string> next();  // reads available bytes; returns the next complete frame
  bool is_flushed() const { return out_.empty(); }
  bool is_closed() const { return is_closed_; }  // by the peer; next() still returns frames received earlier
  int fd() const { return socket_.fd(); }
  void allow(i64 longest_frame) { longest_ = longest_frame; }

 private:
  void read();

  Socket socket_;
  i64 longest_;
  std::string in_, out_;
  bool is_closed_ = false;
};

}  // namespace megalith
