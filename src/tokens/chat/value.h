// What a chat template computes with: Python's values, as far as templates can tell.
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
  std::string name;  // of what was looked for
};
struct None {};
// A whole number of more than 64 bits. It is only written; nothing computes with it.
struct BigWhole {
  std::string digits;
};

// A mapping that keeps the order of its keys; keys are strings.
struct Dict {
  Pairs items;
  const Value* find(std::string_view key) const;  // nullptr if there is none
  void set(std::string_view key, Value value);
};

using Function = std::function<Value(Call&)>;

// Lists, tuples (lists that are shown in parentheses) and mappings are shared and never changed; only a namespace() is,
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
  Value(const char*) = delete;  // would be a bool
  Value(List l);                // fails if nested too deeply
  Value(Dict d);
  static Value tuple(List l) {
    Value v(std::move(l));
    v.is_tuple_ = true;
    return v;
  }
  Value(Namespace n) : data_(std::move(n)), holds_namespace_(true) {}
  Value(Function f) : data_(std::make_shared<const Function>(std::move(f))) {}

  // The value as a T; nullptr if it is something else.
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
  // A whole number or a truth value, which counts as 0 or 1.
  bool whole(i64& out) const;
  bool number(double& out) const;  // any number

  bool holds_namespace() const { return holds_namespace_; }  // somewhere inside: the only values that can change

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
// a < b of numbers, strings or lists; fails on others.
bool less(const Value& a, const Value& b);
// `item in container`: of lists, mappings, strings.
bool contains(const Value& container, const Value& item);
i64 length_of(const Value& value);  // of a string in code points
// What a loop goes over: items of a list, keys of a mapping, characters of a string; nothing if undefined.
List items_of(const Value& value);

std::string to_text(const Value& value);  // Python's str()

// The settings of Python's json.dumps.
struct JsonStyle {
  std::optional<std::string> indent{};  // of one level; none: on one line
  std::string between = ", ", behind_key = ": ";
  bool ascii = false, sorted = false;
};
std::string to_json(const Value& value, const JsonStyle& style);

}  // namespace megalith::chat
