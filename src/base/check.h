// The error for everything that a user can cause: one line with what is wrong, the value, and what to do.
#pragma once
#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace megalith {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... A>
[[noreturn]] void fail(fmt::format_string<A...> text, A&&... args) {
  throw Error(fmt::format(text, std::forward<A>(args)...));
}

template <class... A>
void check(bool ok, fmt::format_string<A...> text, A&&... args) {
  if (!ok) [[unlikely]]
    throw Error(fmt::format(text, std::forward<A>(args)...));
}

}  // namespace megalith
