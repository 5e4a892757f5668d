#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <string>

#include "base/escape.h"
#include "base/log_level.h"
#include "base/log_sink.h"

namespace megalith::log {

static spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> it = [] {
    auto l = spdlog::stderr_color_mt("megalith");
    l->set_pattern("%v");
    l->flush_on(spdlog::level::info);
    return l;
  }();
  return *it;
}

// The terminal is one per process, and so is its status line.
struct Status {
  std::mutex mutex;
  std::string line;
  bool muted = false;
  bool warns = true;
};
static Status& status() {
  static Status it;
  return it;
}

static void draw(std::string_view line) {
  constexpr std::string_view kClear = "\r\x1b[K";
  std::fwrite(kClear.data(), 1, kClear.size(), stderr);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

template <class F>
static void above_status(F&& print) {
  Status& s = status();
  const std::lock_guard lock(s.mutex);
  if (s.muted) return;
  if (!s.line.empty()) draw("");
  print();
  if (!s.line.empty()) draw(s.line);
}

// Of the thread, because sessions of several threads have separate sinks; nullptr: none.
static const Sink*& sink() {
  static thread_local const Sink* it = nullptr;
  return it;
}

SinkScope::SinkScope(const Sink& to) : before_(sink()) { sink() = &to; }
SinkScope::~SinkScope() { sink() = before_; }

static bool to_sink(SinkLevel level, std::string_view line) {
  if (!sink()) return false;
  if (*sink()) (*sink())(level, line);
  return true;
}

void mute() {
  Status& s = status();
  const std::lock_guard lock(s.mutex);
  s.muted = true;
}

void silence_warnings() {
  Status& s = status();
  const std::lock_guard lock(s.mutex);
  s.warns = false;
}

void write_line(std::string_view line) {
  if (to_sink(SinkLevel::output, line)) return;
  above_status([&] {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
    std::fflush(stdout);
  });
}
void write_info(std::string_view message) {
  if (to_sink(SinkLevel::info, message)) return;
  above_status([&] { logger().info("{}", message); });
}
void write_warn(std::string_view message) {
  if (to_sink(SinkLevel::warning, message)) return;
  above_status([&] {
    if (status().warns) logger().warn("warning: {}", escape_controls(message));
  });
}

void set_status(std::string_view line) {
  if (terminal_columns() == 0) return;
  Status& s = status();
  const std::lock_guard lock(s.mutex);
  if (s.muted || (s.line.empty() && line.empty())) return;
  s.line = line;
  draw(line);
}

int terminal_columns() {
  if (!isatty(STDERR_FILENO)) return 0;
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace megalith::log
