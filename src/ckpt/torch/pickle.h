// Python pickles (protocols 2 to 5) as inert values. Reading creates no Python object and runs nothing: a class is only
// its name and its constructor's arguments. Names outside a short list are refused, so a file that tries to do more
// than hold data is reported.
//
// Values are in one arena and point at each other, as in Python: they may be shared and may even form cycles. Callers
// follow known paths, and never visit everything recursively.
#pragma once
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct PickleValue {
  enum class Kind { none, boolean, integer, real, text, bytes, list, tuple, dict, set, global, object, persistent };

  Kind kind = Kind::none;
  i64 integer = 0;                          // also of boolean
  double real = 0;                          // also of integers beyond 64 bits
  std::string text{};                       // text, bytes; "module.name" of a global and of an object's class
  std::vector<const PickleValue*> items{};  // list, tuple, set; dict: key, value, key, value, ...
  const PickleValue *args = nullptr, *state = nullptr;  // object: what its class was called with, what BUILD set

  bool is(std::string_view class_name) const { return kind == Kind::object && text == class_name; }
  bool is_none() const { return kind == Kind::none; }
  bool is_dict() const { return kind == Kind::dict; }
  // Items of a list or tuple, or of an object that is one (torch.Size); nullptr for anything else.
  const std::vector<const PickleValue*>* sequence() const;
  // A dict's value for a text key, or an attribute of an object (through its state dict); nullptr if absent.
  const PickleValue* find(std::string_view key) const;
  // f(key, value) for each entry of a dict.
  void for_entries(const std::function<void(const PickleValue& key, const PickleValue& value)>& f) const;
  std::string describe() const;  // for messages: "a list", "the integer 3", "a collections.Counter"
};

class Pickle {
 public:
  // Error, beginning with `where`, if the bytes are no whole pickle or use more than our limits. So is a class that is
  // not on the list.
  Pickle(std::span<const std::byte> bytes, const std::string& where);
  Pickle(Pickle&&) = default;
  Pickle& operator=(Pickle&&) = default;

  const PickleValue& root() const { return *root_; }

 private:
  std::deque<PickleValue> arena_;
  const PickleValue* root_ = nullptr;
};

bool is_known_pickle_class(std::string_view name);  // "module.name"

// Checked access; `what` begins the Error's text.
i64 pickle_integer(const PickleValue* v, const std::string& what);
// Of iterations, samples, ...: a whole number from 0 to 2^53. PyTorch's Adam counts its steps in floats.
i64 pickle_count(const PickleValue* v, const std::string& what);
const std::string& pickle_text(const PickleValue* v, const std::string& what);
std::vector<i64> pickle_sizes(const PickleValue* v, const std::string& what);    // of a tensor that can be
std::vector<i64> pickle_strides(const PickleValue* v, const std::string& what);  // any integers from 0

}  // namespace megalith
