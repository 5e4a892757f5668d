#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/log.h"

namespace megalith {

// stderr and stdout on a terminal of 40 columns while it lives.
struct Terminal {
  int master = posix_openpt(O_RDWR | O_NOCTTY), old_out = dup(1), old_err = dup(2);
  Terminal() {
    grantpt(master), unlockpt(master);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    const winsize size{.ws_row = 10, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
    ioctl(slave, TIOCSWINSZ, &size);
    std::fflush(stdout);
    dup2(slave, 1), dup2(slave, 2), close(slave);
  }
  ~Terminal() {
    dup2(old_out, 1), dup2(old_err, 2);
    close(old_out), close(old_err), close(master);
  }
  // What has been shown up to and with `last`; a terminal passes it on with a delay.
  std::string shown(std::string_view last) const {
    std::string all;
    for (pollfd ready{.fd = master, .events = POLLIN, .revents = 0};
         !all.ends_with(last) && poll(&ready, 1, 10'000) > 0;) {
      char part[256];
      const ssize_t n = read(master, part, sizeof part);
      if (n <= 0) break;
      all.append(part, size_t(n));
    }
    return all;
  }
};

constexpr const char* kClear = "\r\x1b[K";

TEST(StatusLine, stays_below_messages) {
  std::string shown;
  int columns = 0;
  {
    const Terminal terminal;
    columns = log::terminal_columns();
    log::set_status("10%");
    log::say("a line");
    log::warn("look");
    log::set_status("20%");
    log::set_status("");
    log::set_status("");
    log::say("end");
    shown = terminal.shown("end\r\n");
  }
  const std::string clear = kClear;
  EXPECT_EQ(columns, 40);
  EXPECT_EQ(shown, clear + "10%" + clear + "a line\r\n" + clear + "10%" + clear + "warning: look\r\n" + clear + "10%" +
                       clear + "20%" + clear + "end\r\n");
}

TEST(StatusLine, is_nothing_without_a_terminal) {
  testing::internal::CaptureStderr();
  log::set_status("10%");
  log::info("hello");
  const int columns = log::terminal_columns();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hello\n");
  EXPECT_EQ(columns, 0);
}

}  // namespace megalith
