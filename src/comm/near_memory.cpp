#include "comm/near_memory.h"

#include <sys/uio.h>

#include <algorithm>

#include "comm/transport.h"

namespace megalith {

bool read_near(i64 pid, u64 address, void* to, u64 bytes) {
  for (u64 at = 0; at < bytes;) {
    const u64 now = std::min(bytes - at, u64(kMessageBytes));
    const iovec here{static_cast<char*>(to) + at, now};
    const iovec there{reinterpret_cast<void*>(address + at), now};  // NOLINT: an address of the other process
    const ssize_t n = process_vm_readv(pid_t(pid), &here, 1, &there, 1, 0);
    if (n <= 0) return false;
    at += u64(n);
  }
  return true;
}

}  // namespace megalith
