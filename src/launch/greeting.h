// The first message of an agent to node 0, and its two possible answers.
#pragma once
#include <optional>
#include <string>

#include "launch/messages.h"

namespace megalith::launch {

inline constexpr i64 kLongestMessage = 65536;
inline constexpr const char* kWelcome = "W";
inline constexpr const char* kRefusal = "E";  // and why

struct Greeting {
  int node = 0, nodes = 0;
  Report hello;
};

std::string text_of(const Greeting& greeting);
std::optional<Greeting> greeting_from(const std::string& text);  // empty if the text is no greeting

}  // namespace megalith::launch
