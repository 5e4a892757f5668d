// Filters that sort, select from and cut sequences.
#include <algorithm>

#include "tokens/chat/filter_tables.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

namespace {

bool flag_of(Call& c, size_t place, std::string_view name) {
  const Value* v = c.find(place, name);
  return v && v->truth();
}

// The sort key of items: an attribute, and strings without case if `folded`.
class SortKey {
 public:
  SortKey(const Value* attribute, bool folded) : attribute_(attribute), folded_(folded) {}

  Value operator()(const Value& item) const {
    const Value v = attribute_ && !attribute_->none() ? at_path(item, *attribute_) : item;
    return folded_ && v.string() ? Value(lower(*v.string())) : v;
  }

 private:
  const Value* attribute_;
  bool folded_;
};

// Stable like Python's sorted(): equal items keep their order, also if reversed.
List sorted(List items, const SortKey& key, bool reverse, Call& c) {
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : items) keyed.emplace_back(key(item), item);
  i64 rounds = 1;
  for (size_t n = items.size(); n > 1; n /= 2) ++rounds;
  c.budget.spend_steps(rounds * i64(items.size()));
  std::ranges::stable_sort(
      keyed, [&](const auto& a, const auto& b) { return reverse ? less(b.first, a.first) : less(a.first, b.first); });
  for (size_t k = 0; k < items.size(); ++k) items[k] = keyed[k].second;
  return items;
}

Value sort_items(const Value& v, Call& c) {
  List items = list_of(v, c);
  const Value* attribute = c.find(2, "attribute");
  const bool folded = !flag_of(c, 1, "case_sensitive"), reverse = flag_of(c, 0, "reverse");
  if (!attribute || !attribute->string()) return sorted(std::move(items), SortKey(attribute, folded), reverse, c);
  // "a,b": by a, then by b.
  auto names = split(*attribute->string(), ",", -1, false);
  std::ranges::reverse(names);
  for (const std::string_view name : names) {
    const Value one(name);
    items = sorted(std::move(items), SortKey(&one, folded), reverse, c);
  }
  return items;
}

Value dictsort(const Value& v, Call& c) {
  check(v.dict() != nullptr, "dictsort needs a mapping, not {}", v.kind());
  const std::string_view by = c.text(1, "by", "key");
  check(by == "key" || by == "value", "dictsort sorts by key or value, not \"{}\"", by);
  List pairs;
  for (const auto& [key, value] : v.dict()->items) pairs.push_back(Value::tuple({Value(key), value}));
  const Value place(i64{by == "key" ? 0 : 1});
  return sorted(std::move(pairs), SortKey(&place, !flag_of(c, 0, "case_sensitive")), flag_of(c, 2, "reverse"), c);
}

Value extreme(const Value& v, Call& c, bool largest) {
  const List items = list_of(v, c);
  if (items.empty()) return Undefined{"the largest or smallest of nothing"};
  const SortKey key(c.find(1, "attribute"), !flag_of(c, 0, "case_sensitive"));
  size_t best = 0;
  for (size_t k = 1; k < items.size(); ++k) {
    const Value a = key(items[best]), b = key(items[k]);
    if (largest ? less(a, b) : less(b, a)) best = k;
  }
  return items[best];
}
Value largest(const Value& v, Call& c) { return extreme(v, c, true); }
Value smallest(const Value& v, Call& c) { return extreme(v, c, false); }

Value sum_of(const Value& v, Call& c) {
  const Value* attribute = c.find(0, "attribute");
  const Value* start = c.find(1, "start");
  Value total = start ? *start : Value(i64{0});
  for (const Value& item : list_of(v, c))
    total = binary("+", total, attribute && !attribute->none() ? at_path(item, *attribute) : item, c.budget);
  return total;
}

Value unique_items(const Value& v, Call& c) {
  const SortKey key(c.find(1, "attribute"), !flag_of(c, 0, "case_sensitive"));
  List out, seen;
  for (const Value& item : list_of(v, c)) {
    const Value k = key(item);
    c.budget.spend_steps(i64(seen.size()));
    if (std::ranges::any_of(seen, [&](const Value& s) { return equal(s, k); })) continue;
    seen.push_back(k);
    out.push_back(item);
  }
  return out;
}

// Rows of `linecount` items; the last is padded.
Value batch(const Value& v, Call& c) {
  const i64 count = c.whole(0, "linecount", 0);
  check(count > 0, "batch needs a number of items from 1 on, not {}", count);
  const Value* fill = c.find(1, "fill_with");
  List rows, row;
  for (const Value& item : list_of(v, c)) {
    row.push_back(item);
    if (i64(row.size()) == count) rows.emplace_back(std::exchange(row, {}));
  }
  if (row.empty()) return rows;
  c.budget.spend_steps(fill && !fill->none() ? count : 0);
  while (fill && !fill->none() && i64(row.size()) < count) row.push_back(*fill);
  rows.emplace_back(std::move(row));
  return rows;
}

// This many rows, of nearly equal length.
Value slice_rows(const Value& v, Call& c) {
  const i64 count = c.whole(0, "slices", 0);
  check(count > 0, "slice needs a number of rows from 1 on, not {}", count);
  c.budget.spend_steps(count);
  const Value* fill = c.find(1, "fill_with");
  const List items = list_of(v, c);
  const i64 n = i64(items.size()), each = n / count, longer = n % count;
  List rows;
  i64 at = 0;
  for (i64 k = 0; k < count; ++k) {
    const i64 end = at + each + (k < longer ? 1 : 0);
    List row(items.begin() + at, items.begin() + end);
    if (fill && !fill->none() && k >= longer) row.push_back(*fill);
    rows.emplace_back(std::move(row));
    at = end;
  }
  return rows;
}

constexpr FilterRow kSequenceFilters[] = {{"batch", batch},  {"dictsort", dictsort},  {"max", largest},
                                          {"min", smallest}, {"slice", slice_rows},   {"sort", sort_items},
                                          {"sum", sum_of},   {"unique", unique_items}};

}  // namespace

std::span<const FilterRow> sequence_filters() { return kSequenceFilters; }

Value at_path(const Value& item, const Value& path, const Value* otherwise) {
  Value at = item;
  const auto step = [&](const Value& key) {
    at = item_of(at, key);
    if (at.undefined() && otherwise) at = *otherwise;
  };
  if (!path.string()) {
    step(path);
    return at;
  }
  for (const std::string_view part : split(*path.string(), ".", -1, false)) {
    const bool number = !part.empty() && std::ranges::all_of(part, [](char d) { return d >= '0' && d <= '9'; });
    step(number && part.size() < 18 ? Value(i64(std::stoll(std::string(part)))) : Value(part));
  }
  return at;
}

}  // namespace megalith::chat
