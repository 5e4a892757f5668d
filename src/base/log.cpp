#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>

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

void write_line(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}
void write_info(std::string_view message) { logger().info("{}", message); }
void write_warn(std::string_view message) { logger().warn("warning: {}", message); }

}  // namespace megalith::log
