// Messages for users. say() is the program's output (stdout, unchanged); info and warn go to stderr with their level.
// A terminal may have one status line below them. Messages remove it, print, and draw it again, so the two never mix.
#pragma once
#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace megalith::log {

// This process prints nothing more here: one of several ranks prints for all.
void mute();

void write_line(std::string_view line);     // stdout, flushed
void write_info(std::string_view message);  // stderr
void write_warn(std::string_view message);  // stderr, "warning: "

void set_status(
    std::string_view line);  // the line at the bottom of stderr's terminal; "" removes it; no effect without a terminal
int terminal_columns();      // the width of stderr's terminal; 0 if it is not one

template <class... A>
void say(fmt::format_string<A...> text, A&&... args) {
  write_line(fmt::format(text, std::forward<A>(args)...));
}
template <class... A>
void info(fmt::format_string<A...> text, A&&... args) {
  write_info(fmt::format(text, std::forward<A>(args)...));
}
template <class... A>
void warn(fmt::format_string<A...> text, A&&... args) {
  write_warn(fmt::format(text, std::forward<A>(args)...));
}

}  // namespace megalith::log
