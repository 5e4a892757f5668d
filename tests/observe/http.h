// A minimal HTTP client for this host.
#pragma once
#include <string>

namespace megalith {

// The complete answer to GET `path`. Empty if there is no answer.
std::string http_get(int port, const std::string& path);

// Connects, sends the beginning of a request, and keeps the connection open until its destructor.
class SlowReader {
 public:
  SlowReader(int port, const std::string& text);
  ~SlowReader();
  SlowReader(const SlowReader&) = delete;

 private:
  int fd_;
};

// Occupies a port during the lifetime of the object.
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
