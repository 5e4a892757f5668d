#include "http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace megalith {

static sockaddr_in at(int port) {
  sockaddr_in a{};
  a.sin_family = AF_INET, a.sin_port = htons(uint16_t(port)), a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

static int connected(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in a = at(port);
  const timeval patience{20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) return fd;
  close(fd);
  return -1;
}

static void send_text(int fd, const std::string& text) {
  EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
}

std::string http_get(int port, const std::string& path) {
  const int fd = connected(port);
  if (fd < 0) return {};
  send_text(fd, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  std::string all;
  char part[4096];
  for (ssize_t n; (n = recv(fd, part, sizeof part, 0)) > 0;) all.append(part, size_t(n));
  close(fd);
  return all;
}

SlowReader::SlowReader(int port, const std::string& text) : fd_(connected(port)) { send_text(fd_, text); }
SlowReader::~SlowReader() { close(fd_); }

TakenPort::TakenPort() : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in a = at(0);
  socklen_t size = sizeof a;
  EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&a), size), 0);
  EXPECT_EQ(listen(fd_, 1), 0);
  EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&a), &size), 0);
  port_ = ntohs(a.sin_port);
}
TakenPort::~TakenPort() { close(fd_); }

}  // namespace megalith
