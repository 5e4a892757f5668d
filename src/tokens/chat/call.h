// The arguments of a filter, test, method or function, and the remaining budget of a rendering.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tokens/chat/value.h"

namespace megalith::chat {

// Limits the time of a rendering: each step, and each byte of output, has a cost.
class Budget {
 public:
  static constexpr i64 kUnits = i64{1} << 23;  // about a tenth of a second
  static constexpr i64 kPerByte = 1024;        // additional units for each byte of the data
  static constexpr i64 kStep = 16;             // cost of a node or an item; a byte costs 1
  static constexpr i64 kTurn = 20;             // cost of a loop's iteration in steps: it builds `loop`

  explicit Budget(i64 data_bytes) : left_(kUnits + kPerByte * data_bytes) {}

  void spend(i64 units) {
    left_ -= units;
    check(left_ >= 0, "the template does too much: it may loop forever");
  }
  void spend_steps(i64 steps) { spend(steps > left_ / kStep ? left_ + 1 : steps * kStep); }

 private:
  i64 left_;
};

struct Call {
  std::string_view name;  // for errors
  std::vector<Value> arguments;
  Pairs named;
  Budget& budget;

  // The argument with this position or name. nullptr if it is missing.
  const Value* find(size_t place, std::string_view key) const {
    if (place < arguments.size()) return &arguments[place];
    for (const auto& [k, value] : named)
      if (k == key) return &value;
    return nullptr;
  }
  const Value& at(size_t place, std::string_view key) const {
    const Value* v = find(place, key);
    check(v != nullptr, "{} needs the argument {}", name, key);
    return *v;
  }
  std::string_view text(size_t place, std::string_view key) const {
    const Value& v = at(place, key);
    check(v.string() != nullptr, "{} of {} must be a string, not {}", key, name, v.kind());
    return *v.string();
  }
  // `otherwise` if it is missing or none.
  std::string_view text(size_t place, std::string_view key, std::string_view otherwise) const {
    const Value* v = find(place, key);
    return v && !v->none() ? text(place, key) : otherwise;
  }
  i64 whole(size_t place, std::string_view key, i64 otherwise) const {
    const Value* v = find(place, key);
    i64 number = otherwise;
    check(!v || v->none() || v->whole(number), "{} of {} must be a whole number, not {}", key, name,
          v ? v->kind() : "");
    return number;
  }
  void at_most(size_t count) const {
    check(arguments.size() <= count, "{} takes {} arguments at most, not {}", name, count, arguments.size());
  }
};

}  // namespace megalith::chat
