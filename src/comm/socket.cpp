#include "comm/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/check.h"

namespace megalith {
namespace {

constexpr int kFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;

struct Addresses {
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> list{nullptr, freeaddrinfo};
  std::string why;
};

Addresses resolve(const std::string& host, int port) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  Addresses found;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (code != 0) found.why = fmt::format("{} has no address ({})", host, gai_strerror(code));
  if (code == 0) found.list.reset(list);
  return found;
}

int port_of(int fd) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length);
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(at).sin6_port
                                        : reinterpret_cast<sockaddr_in&>(at).sin_port);
}

void send_at_once(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Empty, with errno, if the address can't be had.
Socket bound(const sockaddr* address, socklen_t length, bool listens) {
  Socket s(socket(address->sa_family, SOCK_STREAM | kFlags, 0));
  const int on = 1, off = 0;
  if (!s) return {};
  setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->sa_family == AF_INET6) setsockopt(s.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(s.fd(), address, length) != 0 || (listens && listen(s.fd(), SOMAXCONN) != 0)) return {};
  return s;
}

Socket bound_everywhere(int port, bool listens) {
  sockaddr_in6 all{};
  all.sin6_family = AF_INET6;
  all.sin6_port = htons(u_short(port));
  if (Socket s = bound(reinterpret_cast<sockaddr*>(&all), sizeof all, listens)) return s;
  sockaddr_in all4{};  // a host without IPv6
  all4.sin_family = AF_INET;
  all4.sin_port = htons(u_short(port));
  return bound(reinterpret_cast<sockaddr*>(&all4), sizeof all4, listens);
}

Socket connected(const addrinfo& to, double seconds, std::string& why) {
  Socket s(socket(to.ai_family, SOCK_STREAM | kFlags, 0));
  int error = 0;
  socklen_t length = sizeof error;
  if (!s) {
    error = errno;
  } else if (connect(s.fd(), to.ai_addr, to.ai_addrlen) != 0) {
    pollfd wait{s.fd(), POLLOUT, 0};
    if (errno != EINPROGRESS)
      error = errno;
    else if (poll(&wait, 1, int(seconds * 1000)) <= 0)
      error = ETIMEDOUT;
    else
      getsockopt(s.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error == 0) {
    send_at_once(s.fd());
    return s;
  }
  why = std::strerror(error);
  return {};
}

bool is_loopback_address(const sockaddr* a) {
  if (a->sa_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr);
  return ntohl(reinterpret_cast<const sockaddr_in*>(a)->sin_addr.s_addr) >> 24 == 127;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Socket Listener::accept() const {
  Socket s(accept4(socket.fd(), nullptr, nullptr, kFlags));
  if (s) send_at_once(s.fd());
  return s;
}

static Listener bound_at(const std::string& host, int port, bool listens) {
  Listener listener;
  if (host.empty()) {
    listener.socket = bound_everywhere(port, listens);
  } else {
    const Addresses at = resolve(host, port);
    check(at.list != nullptr, "{}", at.why);
    listener.socket = bound(at.list->ai_addr, at.list->ai_addrlen, listens);
  }
  check(bool(listener.socket), "cannot listen at {} port {}: {}", host.empty() ? "this host's" : host, port,
        std::strerror(errno));
  listener.port = port_of(listener.socket.fd());
  return listener;
}

Listener listen_at(const std::string& host, int port) { return bound_at(host, port, true); }
Listener hold_port(const std::string& host) { return bound_at(host, 0, false); }

Socket connect_to(const std::string& host, int port, double seconds, std::string& why) {
  const Addresses at = resolve(host, port);
  why = at.why;
  for (const addrinfo* a = at.list.get(); a; a = a->ai_next)
    if (Socket s = connected(*a, seconds, why)) return s;
  return {};
}

bool is_loopback(const std::string& host) {
  const Addresses at = resolve(host, 0);
  for (const addrinfo* a = at.list.get(); a; a = a->ai_next)
    if (!is_loopback_address(a->ai_addr)) return false;
  return at.list != nullptr;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* i = list; i; i = i->ifa_next) {
    const sockaddr* a = i->ifa_addr;
    if (!a || !(i->ifa_flags & IFF_UP) || (a->sa_family != AF_INET && a->sa_family != AF_INET6)) continue;
    const bool six = a->sa_family == AF_INET6;
    const bool is_local = six && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr);
    if (is_loopback_address(a) || is_local) continue;
    char text[NI_MAXHOST] = "";
    if (getnameinfo(a, six ? sizeof(sockaddr_in6) : sizeof(sockaddr_in), text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) == 0)
      addresses.emplace_back(text);
  }
  freeifaddrs(list);
  return addresses;
}

}  // namespace megalith
