// TCP sockets: nonblocking, closed on exec and by their destructor.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace megalith {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct Listener {
  Socket socket;
  int port = 0;

  Socket accept() const;  // empty if there is no connection to accept
};

// Listens at a host's first address; "" for all addresses of this host; port 0 for any free one. Error if it can't.
Listener listen_at(const std::string& host, int port);

// A free port of these addresses. While this exists the system gives it to no one as a free port; a process that asks
// for it by number can listen there.
Listener hold_port(const std::string& host);

// Tries all addresses of a host, for this many seconds each. If none answers: returns empty, and the reason.
Socket connect_to(const std::string& host, int port, double seconds, std::string& why);

bool is_loopback(const std::string& host);  // all its addresses are

std::vector<std::string> own_addresses();  // numeric, of interfaces that are up; loopback left out

}  // namespace megalith
