#include "tokens/chat/value.h"

#include <algorithm>

#include "base/check.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

const Value* Dict::find(std::string_view key) const {
  for (const auto& [k, value] : items)
    if (k == key) return &value;
  return nullptr;
}

void Dict::set(std::string_view key, Value value) {
  for (auto& [k, old] : items)
    if (k == key) return void(old = std::move(value));
  items.emplace_back(key, std::move(value));
}

void Value::contain(const Value& part) {
  constexpr int kDeepest = 2000;  // limit of recursion over values
  depth_ = u16(std::max<int>(depth_, part.depth_ + 1));
  holds_namespace_ |= part.holds_namespace_;
  check(depth_ <= kDeepest, "a value is nested more than {} levels deep", kDeepest);
}

Value::Value(List l) {
  for (const Value& part : l) contain(part);
  data_ = std::make_shared<const List>(std::move(l));
}

Value::Value(Dict d) {
  for (const auto& [_, part] : d.items) contain(part);
  data_ = std::make_shared<const Dict>(std::move(d));
}

const Dict* Value::dict() const {
  if (const auto* d = as<DictPtr>()) return d->get();
  const auto* n = as<Namespace>();
  return n ? n->values.get() : nullptr;
}

bool Value::whole(i64& out) const {
  if (const auto* i = as<i64>()) return out = *i, true;
  if (const auto* b = as<bool>()) return out = *b, true;
  return false;
}

bool Value::number(double& out) const {
  if (const auto* d = as<double>()) return out = *d, true;
  i64 i = 0;
  if (!whole(i)) return false;
  out = double(i);
  return true;
}

std::string_view Value::kind() const {
  constexpr std::string_view kNames[] = {"undefined",
                                         "none",
                                         "a truth value",
                                         "a whole number",
                                         "a number",
                                         "a string",
                                         "a list",
                                         "a mapping",
                                         "a namespace",
                                         "a function",
                                         "a whole number of more than 64 bits"};
  return kNames[data_.index()];
}

bool Value::truth() const {
  double d = 0;
  if (number(d)) return d != 0;
  if (const auto* s = string()) return !s->empty();
  if (const auto* l = list()) return !l->empty();
  if (const auto* d = as<DictPtr>()) return !(*d)->items.empty();
  return !undefined() && !none();
}

bool equal(const Value& a, const Value& b) {
  double x = 0, y = 0;
  if (a.number(x) && b.number(y)) {
    i64 i = 0, j = 0;
    return a.whole(i) && b.whole(j) ? i == j : x == y;
  }
  if (a.string() && b.string()) return *a.string() == *b.string();
  if (a.list() && b.list()) return std::ranges::equal(*a.list(), *b.list(), equal);
  if (a.as<Value::DictPtr>() && b.as<Value::DictPtr>()) {
    const Pairs &p = a.dict()->items, &q = b.dict()->items;
    return p.size() == q.size() && std::ranges::all_of(p, [&](const auto& item) {
             const Value* other = b.dict()->find(item.first);
             return other && equal(item.second, *other);
           });
  }
  if (a.as<BigWhole>() && b.as<BigWhole>()) return a.as<BigWhole>()->digits == b.as<BigWhole>()->digits;
  if (a.as<Value::Namespace>() && b.as<Value::Namespace>()) return a.dict() == b.dict();
  return (a.undefined() && b.undefined()) || (a.none() && b.none());
}

bool less(const Value& a, const Value& b) {
  double x = 0, y = 0;
  if (a.number(x) && b.number(y)) {
    i64 i = 0, j = 0;
    return a.whole(i) && b.whole(j) ? i < j : x < y;
  }
  if (a.string() && b.string()) return *a.string() < *b.string();  // UTF-8 sorts like code points
  check(a.list() && b.list(), "{} and {} cannot be ordered", a.kind(), b.kind());
  return std::ranges::lexicographical_compare(*a.list(), *b.list(), less);
}

bool contains(const Value& container, const Value& item) {
  if (const auto* s = container.string()) {
    check(item.string() != nullptr, "{} cannot be in a string", item.kind());
    return s->find(*item.string()) != std::string::npos;
  }
  if (const auto* d = container.dict()) return item.string() && d->find(*item.string());
  if (container.undefined()) return false;
  check(container.list() != nullptr, "nothing can be in {}", container.kind());
  return std::ranges::any_of(*container.list(), [&](const Value& v) { return equal(v, item); });
}

i64 length_of(const Value& value) {
  if (const auto* s = value.string()) return count_characters(*s);
  if (const auto* l = value.list()) return i64(l->size());
  if (const auto* d = value.as<Value::DictPtr>()) return i64((*d)->items.size());
  check(value.undefined(), "{} has no length", value.kind());
  return 0;
}

List items_of(const Value& value) {
  if (const auto* l = value.list()) return *l;
  List out;
  if (const auto* d = value.as<Value::DictPtr>()) {
    for (const auto& [key, _] : (*d)->items) out.emplace_back(key);
  } else if (const auto* s = value.string()) {
    for (const std::string_view c : characters(*s)) out.emplace_back(c);
  } else {
    check(value.undefined(), "{} cannot be iterated", value.kind());
  }
  return out;
}

}  // namespace megalith::chat
