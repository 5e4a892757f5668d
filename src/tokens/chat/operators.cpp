// Attributes, items, slices and arithmetic.
#include <algorithm>
#include <cmath>

#include "tokens/chat/builtins.h"
#include "tokens/chat/python_format.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

namespace {

void check_defined(const Value& v) {
  if (const auto* u = v.as<Undefined>()) fail("{} is undefined", u->name);
}

// Python rounds towards minus infinity; the remainder has the divisor's sign.
Value whole_arithmetic(std::string_view sign, i64 a, i64 b) {
  i64 out = 0;
  bool overflow = false;
  if (sign == "+")
    overflow = __builtin_add_overflow(a, b, &out);
  else if (sign == "-")
    overflow = __builtin_sub_overflow(a, b, &out);
  else if (sign == "*")
    overflow = __builtin_mul_overflow(a, b, &out);
  else {
    check(b != 0, "division by zero");
    if (sign == "/") return double(a) / double(b);
    const bool minus_one = b == -1;
    const i64 quotient = minus_one ? 0 : a / b, rest = minus_one ? 0 : a % b;
    const bool down = rest != 0 && (rest < 0) != (b < 0);
    if (sign == "%")
      out = down ? rest + b : rest;
    else if (minus_one)
      overflow = __builtin_sub_overflow(i64{0}, a, &out);
    else
      out = quotient - down;
  }
  check(!overflow, "{} {} {} is too large", a, sign, b);
  return out;
}

Value power(i64 a, i64 b) {
  i64 out = 1;
  for (i64 k = 0; k < b; ++k) {
    check(!__builtin_mul_overflow(out, a, &out), "{} ** {} is too large", a, b);
    if (out == 0 || out == 1) return out;
    if (out == -1 && a == -1) return i64{b % 2 ? -1 : 1};
  }
  return out;
}

Value arithmetic(std::string_view sign, const Value& a, const Value& b) {
  i64 i = 0, j = 0;
  double x = 0, y = 0;
  check_defined(a), check_defined(b);
  check(a.number(x) && b.number(y), "{} {} {} has no meaning", a.kind(), sign, b.kind());
  const bool whole = a.whole(i) && b.whole(j);
  if (sign == "**") return whole && j >= 0 ? power(i, j) : Value(std::pow(x, y));
  if (whole) return whole_arithmetic(sign, i, j);
  if (sign == "+") return x + y;
  if (sign == "-") return x - y;
  if (sign == "*") return x * y;
  check(y != 0, "division by zero");
  if (sign == "/") return x / y;
  const double quotient = std::floor(x / y);
  return sign == "//" ? quotient : x - quotient * y;
}

Value repeated(const std::string& text, i64 count, Budget& budget) {
  std::string out;
  if (text.empty()) return out;
  check(count <= i64(kMostBytes), "a text grows above {} MiB", kMostBytes >> 20);
  for (i64 k = 0; k < count; ++k) {
    check_size(out.size());
    out += text;
  }
  budget.spend(i64(out.size()));
  return out;
}

Value joined(const std::string& a, const std::string& b, Budget& budget) {
  check_size(a.size() + b.size());
  budget.spend(i64(a.size() + b.size()));
  return a + b;
}

Value plus(const Value& a, const Value& b, Budget& budget) {
  if (a.string() && b.string()) return joined(*a.string(), *b.string(), budget);
  if (!a.list() || !b.list()) return arithmetic("+", a, b);
  budget.spend_steps(i64(a.list()->size() + b.list()->size()));
  List out = *a.list();
  out.insert(out.end(), b.list()->begin(), b.list()->end());
  return out;
}

}  // namespace

Value binary(std::string_view sign, const Value& a, const Value& b, Budget& budget) {
  if (sign == "==") return equal(a, b);
  if (sign == "!=") return !equal(a, b);
  if (sign == "~") return joined(to_text(a), to_text(b), budget);
  if (sign == "in") return contains(b, a);
  if (sign == "not in") return !contains(b, a);
  if (sign == "+") return plus(a, b, budget);
  const bool order = sign == "<" || sign == ">" || sign == "<=" || sign == ">=";
  if (order) check_defined(a), check_defined(b);
  if (sign == "<") return less(a, b);
  if (sign == ">") return less(b, a);
  if (sign == "<=") return less(a, b) || equal(a, b);
  if (sign == ">=") return less(b, a) || equal(a, b);
  if (sign == "%" && a.string()) return percent_format(*a.string(), b, budget);
  i64 count = 0;
  if (sign == "*" && a.string() && b.whole(count)) return repeated(*a.string(), count, budget);
  if (sign == "*" && b.string() && a.whole(count)) return repeated(*b.string(), count, budget);
  return arithmetic(sign, a, b);
}

Value item_of(const Value& value, const Value& key) {
  check_defined(value);
  i64 at = 0;
  if (key.as<i64>() && key.whole(at) && (value.list() || value.string())) {
    const i64 n = length_of(value);
    if (at < 0) at += n;
    if (at < 0 || at >= n) return Undefined{"an item outside the list"};
    return value.list() ? (*value.list())[size_t(at)] : Value(characters(*value.string())[size_t(at)]);
  }
  const Value* found = key.string() && value.dict() ? value.dict()->find(*key.string()) : nullptr;
  return found ? *found : Value(Undefined{key.string() ? *key.string() : to_text(key)});
}

Value attribute_of(const Value& value, std::string_view name) {
  check_defined(value);
  const Value* found = value.dict() ? value.dict()->find(name) : nullptr;
  return found ? *found : Value(Undefined{std::string(name)});
}

Value slice_of(const Value& value, const Value& begin, const Value& end, const Value& step) {
  check_defined(value);
  check(value.list() || value.string(), "{} cannot be sliced", value.kind());
  const auto number = [](const Value& v, i64 otherwise) {
    i64 n = otherwise;
    check(v.none() || v.whole(n), "a slice needs whole numbers, not {}", v.kind());
    return n;
  };
  const List items = items_of(value);
  const i64 n = i64(items.size()), by = number(step, 1);
  check(by != 0, "the step of a slice is 0");
  const i64 least = by > 0 ? 0 : -1, most = by > 0 ? n : n - 1;
  const auto bound = [&](const Value& v, i64 otherwise) {
    if (v.none()) return otherwise;
    const i64 at = number(v, 0);
    return std::clamp(at < 0 ? at + n : at, least, most);
  };
  const i64 from = bound(begin, by > 0 ? 0 : n - 1), to = bound(end, by > 0 ? n : -1);
  List out;
  for (i64 i = from; by > 0 ? i < to : i > to;) {
    out.push_back(items[size_t(i)]);
    if (__builtin_add_overflow(i, by, &i)) break;
  }
  if (value.list()) return out;
  std::string text;
  for (const Value& c : out) text += *c.string();
  return text;
}

}  // namespace megalith::chat
