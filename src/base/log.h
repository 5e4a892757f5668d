// Messages for people. say() is the program's output (stdout, as it is); info and warn go to stderr with their level.
// One status line may live below them on a terminal: messages take it away, print, and draw it again, so the two never
// mix.
#pragma once
#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace megalith::log {

// This process says nothing more here: of several ranks one speaks for all.
void mute();

void write_line(std::string_view line);     // stdout, flushed
void write_info(std::string_view message);  // stderr
void write_warn(std::string_view message);  // stderr, "warning: "

void set_status(
    std::string_view line);  // the line at the bottom of stderr's terminal; "" takes it away; nothing if not a terminal
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
