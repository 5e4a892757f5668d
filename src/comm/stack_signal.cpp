#include "comm/stack_signal.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace megalith {
namespace {

static volatile sig_atomic_t line_to_agent = -1;

// The handler allocates no memory and takes no lock, because the interrupted thread may hold any.
char* put_hex(char* at, std::uintptr_t value) {
  *at++ = ' ';
  int shift = 4 * (2 * int(sizeof value) - 1);
  while (shift > 0 && (value >> shift) == 0) shift -= 4;
  for (; shift >= 0; shift -= 4) *at++ = "0123456789abcdef"[(value >> shift) & 15];
  return at;
}

void send_stack(int) {
  constexpr int kDeepest = 48, kOwn = 2;  // this function, and the system's return from it
  const int error = errno;
  void* frames[kDeepest];
  const int n = backtrace(frames, kDeepest);
  char text[17 * (kDeepest + 2)] = "stack";
  char* end = put_hex(text + std::strlen(text), std::uintptr_t(gettid()));
  for (int i = kOwn; i < n; ++i) end = put_hex(end, reinterpret_cast<std::uintptr_t>(frames[i]));
  send(line_to_agent, text, size_t(end - text), MSG_DONTWAIT | MSG_NOSIGNAL);
  errno = error;
}

}  // namespace

void answer_stack_signal(int fd) {
  void* frame[1];
  backtrace(frame, 1);  // the first call loads the unwinder, which a handler may not do
  line_to_agent = fd;
  struct sigaction action {};
  action.sa_handler = send_stack;
  action.sa_flags = SA_RESTART;
  sigaction(SIGQUIT, &action, nullptr);
}

}  // namespace megalith
