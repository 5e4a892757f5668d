// Messages for people. say() is the program's output (stdout, as it is); info and warn go to stderr with their level.
#pragma once
#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace megalith::log {

void write_line(std::string_view line);     // stdout, flushed
void write_info(std::string_view message);  // stderr
void write_warn(std::string_view message);  // stderr, "warning: "

template <class... A>
void say(fmt::format_string<A...> text, A&&... args) { write_line(fmt::format(text, std::forward<A>(args)...)); }
template <class... A>
void info(fmt::format_string<A...> text, A&&... args) { write_info(fmt::format(text, std::forward<A>(args)...)); }
template <class... A>
void warn(fmt::format_string<A...> text, A&&... args) { write_warn(fmt::format(text, std::forward<A>(args)...)); }

}  // namespace megalith::log
