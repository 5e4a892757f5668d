// What a call is refused with.
#pragma once
#include <string>

#include "base/check.h"

namespace megalith {

// The error's words; "" if there is none.
template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace megalith
