// What a call is refused with.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "base/check.h"

namespace megalith {

// The message of the Error that f throws, which must be one line; "" if it throws none.
template <class F>
[[nodiscard]] std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  return "";
}

}  // namespace megalith
