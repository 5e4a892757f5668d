#include "comm/slot_messages.h"

#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <xxhash.h>

#include <cerrno>
#include <sstream>

#include "base/check.h"
#include "comm/member.h"

namespace megalith {

u64 sum_of(std::span<const std::byte> bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

// False: the time is over.
static bool wait_for(int fd, short what, double seconds) {
  pollfd wait{fd, what, 0};
  int ready = 0;
  while ((ready = poll(&wait, 1, seconds < 0 ? -1 : int(seconds * 1000))) < 0 && errno == EINTR) continue;
  return ready > 0;
}

bool send_all(const Socket& socket, std::span<const std::byte> bytes, double seconds) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) bytes = bytes.subspan(size_t(n));
    if (n >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN || !wait_for(socket.fd(), POLLOUT, seconds)) return false;
  }
  return true;
}

bool receive_all(const Socket& socket, std::span<std::byte> bytes, double seconds) {
  while (!bytes.empty()) {
    const ssize_t n = recv(socket.fd(), bytes.data(), bytes.size(), 0);
    if (n > 0) bytes = bytes.subspan(size_t(n));
    if (n == 0) return false;
    if (n > 0 || errno == EINTR) continue;
    if (errno != EAGAIN || !wait_for(socket.fd(), POLLIN, seconds)) return false;
  }
  return true;
}

SlotServerPlace SlotServerPlace::of_own(const SlotServerKey& key) {
  return {.key = key, .network = Member::self(0).network, .addresses = own_addresses()};
}

std::string SlotServerPlace::text() const {
  if (key.port == 0) return {};
  return fmt::format("{} {} {} {}", key.port, key.token, network.empty() ? "-" : network, fmt::join(addresses, " "));
}

SlotServerPlace SlotServerPlace::from_text(const std::string& text) {
  SlotServerPlace p;
  if (text.empty()) return p;
  std::istringstream in(text);
  check(bool(in >> p.key.port >> p.key.token >> p.network),
        "a rank sent no address of its agent: do all ranks run the same program?");
  for (std::string address; in >> address;) p.addresses.push_back(address);
  return p;
}

}  // namespace megalith
