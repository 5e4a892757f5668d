#include "launch/greeting.h"

#include <fmt/core.h>

#include <sstream>

#include "base/check.h"

namespace megalith::launch {

constexpr const char* kLaunchGreeting = "megalith launch 1: node";

std::string text_of(const Greeting& g) {
  return fmt::format("{} {} {} {}", kLaunchGreeting, g.node, g.nodes, text_of(g.hello));
}

std::optional<Greeting> greeting_from(const std::string& text) {
  if (!text.starts_with(kLaunchGreeting)) return {};
  std::istringstream in(text.substr(std::string(kLaunchGreeting).size()));
  Greeting g;
  std::string hello;
  if (!(in >> g.node >> g.nodes) || !std::getline(in, hello)) return {};
  try {
    g.hello = report_from(hello);
  } catch (const Error&) {
    return {};
  }
  if (g.hello.kind != Report::Kind::hello || g.hello.ranks < 1) return {};
  return g;
}

}  // namespace megalith::launch
