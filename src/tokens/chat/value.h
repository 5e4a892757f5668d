// The values of a chat template: Python's values, as far as templates can observe.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace megalith::chat {

class Value;
struct Call;
using List = std::vector<Value>;
using Pairs = std::vector<std::pair<std::string, Value>>;

struct Undefined {
  std::string name;  // of the missing value
};
struct None {};
// An integer of more than 64 bits. Templates can only print it.
struct BigWhole {
  std::string digits;
};

// A mapping with string keys, in insertion order.
struct Dict {
  Pairs items;
  const Value* find(std::string_view key) const;  // nullptr if missing
  void set(std::string_view key, Value value);
};

using Function = std::function<Value(Call&)>;

// Lists, tuples (lists that print in parentheses) and mappings are shared and immutable. Only a namespace() changes,
// by {% set ns.x = .. %}.
class Value {
 public:
  using ListPtr = std::shared_ptr<const List>;
  using DictPtr = std::shared_ptr<const Dict>;
  struct Namespace {
    std::shared_ptr<Dict> values;
  };
  using FunctionPtr = std::shared_ptr<const Function>;
  using Data =
      std::variant<Undefined, None, bool, i64, double, std::string, ListPtr, DictPtr, Namespace, FunctionPtr, BigWhole>;

  Value() : data_(Undefined{}) {}
  Value(None) : data_(None{}) {}
  Value(Undefined u) : data_(std::move(u)) {}
  Value(bool b) : data_(b) {}
  Value(i64 i) : data_(i) {}
  Value(double d) : data_(d) {}
  Value(BigWhole w) : data_(std::move(w)) {}
  Value(std::string s) : data_(std::move(s)) {}
  Value(std::string_view s) : data_(std::string(s)) {}
  Value(const char*) = delete;  // would convert to bool
  Value(List l);                // fails if nested too deeply
  Value(Dict d);
  static Value tuple(List l) {
    Value v(std::move(l));
    v.is_tuple_ = true;
    return v;
  }
  Value(Namespace n) : data_(std::move(n)), holds_namespace_(true) {}
  Value(Function f) : data_(std::make_shared<const Function>(std::move(f))) {}

  // The value as a T. nullptr if it has another type.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&data_);
  }
  const List* list() const { return as<ListPtr>() ? as<ListPtr>()->get() : nullptr; }
  bool is_tuple() const { return is_tuple_; }
  const Dict* dict() const;  // of a mapping or a namespace
  const std::string* string() const { return as<std::string>(); }
  bool undefined() const { return as<Undefined>() != nullptr; }
  bool none() const { return as<None>() != nullptr; }
  // An integer, or a bool as 0 or 1.
  bool whole(i64& out) const;
  bool number(double& out) const;  // any number

  bool holds_namespace() const { return holds_namespace_; }  // whether one is inside: the only values that can change

  std::string_view kind() const;  // for errors: "a string", "undefined" and so on
  bool truth() const;

 private:
  void contain(const Value& part);

  Data data_;
  u16 depth_ = 0;  // levels of lists and mappings
  bool holds_namespace_ = false;
  bool is_tuple_ = false;
};

bool equal(const Value& a, const Value& b);
// a < b for numbers, strings or lists. Fails on other types.
bool less(const Value& a, const Value& b);
// `item in container`: of lists, mappings, strings.
bool contains(const Value& container, const Value& item);
i64 length_of(const Value& value);  // of a string in code points
// The elements of a loop: a list's items, a mapping's keys, a string's characters. Empty if undefined.
List items_of(const Value& value);

std::string to_text(const Value& value);  // Python's str()

// The settings of Python's json.dumps.
struct JsonStyle {
  std::optional<std::string> indent{};  // of one level; none: all on one line
  std::string between = ", ", behind_key = ": ";
  bool ascii = false, sorted = false;
};
std::string to_json(const Value& value, const JsonStyle& style);

}  // namespace megalith::chat
