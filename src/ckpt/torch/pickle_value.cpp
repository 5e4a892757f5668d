// Access to the values of a parsed pickle. No code of a pickle runs.
#include <fmt/format.h>

#include <cmath>

#include "base/check.h"
#include "base/parse_count.h"
#include "base/shape.h"
#include "ckpt/torch/pickle.h"

namespace megalith {

using Kind = PickleValue::Kind;

const std::vector<const PickleValue*>* PickleValue::sequence() const {
  if (kind == Kind::list || kind == Kind::tuple) return &items;
  if (is("torch.Size") && args != nullptr && args->items.size() == 1) {
    const PickleValue& inner = *args->items[0];
    if (inner.kind == Kind::list || inner.kind == Kind::tuple) return &inner.items;
  }
  return nullptr;
}

const PickleValue* PickleValue::find(std::string_view key) const {
  const PickleValue* dict = kind == Kind::object ? state : this;
  if (dict == nullptr || dict->kind != Kind::dict) return nullptr;
  // The last of equal keys counts, as in Python.
  for (std::size_t i = dict->items.size(); i >= 2; i -= 2)
    if (dict->items[i - 2]->kind == Kind::text && dict->items[i - 2]->text == key) return dict->items[i - 1];
  return nullptr;
}

void PickleValue::for_entries(const std::function<void(const PickleValue& key, const PickleValue& value)>& f) const {
  for (std::size_t i = 0; kind == Kind::dict && i + 1 < items.size(); i += 2) f(*items[i], *items[i + 1]);
}

std::string PickleValue::describe() const {
  switch (kind) {
    case Kind::none:
      return "None";
    case Kind::boolean:
      return integer != 0 ? "True" : "False";
    case Kind::integer:
      return fmt::format("the integer {}", integer);
    case Kind::real:
      return fmt::format("the number {}", real);
    case Kind::text:
      return fmt::format("\"{}\"", text.substr(0, 60));
    case Kind::bytes:
      return "bytes";
    case Kind::list:
      return fmt::format("a list of {}", items.size());
    case Kind::tuple:
      return fmt::format("a tuple of {}", items.size());
    case Kind::dict:
      return fmt::format("a dict of {}", items.size() / 2);
    case Kind::set:
      return "a set";
    case Kind::global:
      return text;
    case Kind::object:
      return "a " + text;
    case Kind::persistent:
      return "a storage";
  }
  return "nothing";
}

i64 pickle_integer(const PickleValue* v, const std::string& what) {
  check(v != nullptr, "{} is missing", what);
  check(v->kind == Kind::integer, "{} is {}: want an integer", what, v->describe());
  return v->integer;
}

i64 pickle_count(const PickleValue* v, const std::string& what) {
  const bool is_whole = v != nullptr && v->kind == Kind::real && v->real == std::floor(v->real);
  const bool is_small = is_whole && std::abs(v->real) <= double(kMostCount);
  const i64 value = is_small ? i64(v->real) : pickle_integer(v, what);
  check(value >= 0 && value <= kMostCount, "{} is {}: want an integer from 0 to 2^53", what, value);
  return value;
}

const std::string& pickle_text(const PickleValue* v, const std::string& what) {
  check(v != nullptr, "{} is missing", what);
  check(v->kind == Kind::text, "{} is {}: want text", what, v->describe());
  return v->text;
}

std::vector<i64> pickle_strides(const PickleValue* v, const std::string& what) {
  check(v != nullptr, "{} is missing", what);
  const auto* list = v->sequence();
  check(list != nullptr, "{} is {}: want a tuple of integers", what, v->describe());
  check_dims(list->size(), what);
  std::vector<i64> strides;
  for (const PickleValue* item : *list) {
    const i64 n = strides.emplace_back(pickle_integer(item, what));
    check(n >= 0, "{} has the size {}", what, n);
  }
  return strides;
}

std::vector<i64> pickle_sizes(const PickleValue* v, const std::string& what) {
  std::vector<i64> sizes = pickle_strides(v, what);
  i64 bits = 64;  // the largest element's
  for (const i64 size : sizes)
    check(!__builtin_mul_overflow(bits, size > 0 ? size : 1, &bits), "{} has the size {}", what, size);
  return sizes;
}

}  // namespace megalith
