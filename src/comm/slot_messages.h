// What a rank and the agent of another node say to each other about that agent's memory files. The connection begins
// with the agent's token. Then each request gets one answer.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "comm/snapshot_fds.h"
#include "comm/socket.h"

namespace megalith {

struct SlotRequest {
  enum Kind : u32 {
    read = 0x4d4c5331,  // `bytes` at `at` of a file
    write,              // the same; the bytes follow
    copies_of           // the first file that holds copies of this rank's slots; `at`: the rank
  };
  u32 kind = 0;
  i32 file = 0;  // index among the agent's files
  i64 at = 0, bytes = 0;
  u64 sum = 0;  // of the bytes that follow
};

struct SlotAnswer {
  i64 bytes = -1;  // that follow; -1: refused
  i64 file = -1;   // of copies_of
  u64 sum = 0;     // of the bytes that follow
};

inline constexpr i64 kMostSlotBytes = i64{1} << 24;  // of one request

u64 sum_of(std::span<const std::byte> bytes);  // xxh64

// All bytes, or false: the peer is lost, or no byte has moved for this many seconds. Negative: no limit.
bool send_all(const Socket& socket, std::span<const std::byte> bytes, double seconds);
bool receive_all(const Socket& socket, std::span<std::byte> bytes, double seconds);

// How ranks of other nodes reach an agent's memory files.
struct SlotServerPlace {
  SlotServerKey key;
  std::string network{};  // equal where loopback means the same
  std::vector<std::string> addresses{};

  static SlotServerPlace of_own(const SlotServerKey& key);
  std::string text() const;  // empty if there is none
  static SlotServerPlace from_text(const std::string& text);
};

}  // namespace megalith
