// A minimal HTTP client for this host.
#pragma once
#include <string>

namespace megalith {

// The complete answer to GET `path`; empty: none.
std::string http_get(int port, const std::string& path);

// Connects, sends half a request, and holds the connection until destroyed.
class SlowReader {
 public:
  explicit SlowReader(int port);
  ~SlowReader();
  SlowReader(const SlowReader&) = delete;

 private:
  int fd_;
};

// A port that is in use during the object's lifetime.
class TakenPort {
 public:
  TakenPort();
  ~TakenPort();
  TakenPort(const TakenPort&) = delete;
  int port() const { return port_; }

 private:
  int fd_, port_ = 0;
};

}  // namespace megalith
