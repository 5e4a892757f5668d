#include "ckpt/tensor_table.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"

namespace megalith {
namespace {

struct Row {
  std::string name, expected, found;
};

constexpr std::size_t kRows = 20;

std::string table(std::span<const Row> rows) {
  std::size_t name = 6, expected = 8;
  for (const Row& r : rows) name = std::max(name, r.name.size()), expected = std::max(expected, r.expected.size());
  std::string text = fmt::format("\n  {:<{}}  {:<{}}  {}", "tensor", name, "expected", expected, "found");
  for (const Row& r : rows) text += fmt::format("\n  {:<{}}  {:<{}}  {}", r.name, name, r.expected, expected, r.found);
  return text;
}

}  // namespace

void check_same_tensors(const std::string& where, std::span<const NamedShape> expected,
                        std::span<const NamedShape> found) {
  std::unordered_map<std::string, const Shape*> left;
  for (const NamedShape& t : found) left.emplace(t.name, &t.shape);
  std::vector<Row> rows;
  i64 missing = 0, reshaped = 0;
  for (const NamedShape& t : expected) {
    const auto it = left.find(t.name);
    if (it == left.end()) {
      rows.push_back({t.name, to_string(t.shape), "missing"}), ++missing;
    } else {
      if (*it->second != t.shape) rows.push_back({t.name, to_string(t.shape), to_string(*it->second)}), ++reshaped;
      left.erase(it);
    }
  }
  const auto unexpected = left.size();
  for (const NamedShape& t : found)
    if (left.contains(t.name)) rows.push_back({t.name, "-", to_string(t.shape)});
  if (rows.empty()) return;
  const auto shown = std::min(rows.size(), kRows);
  std::string text = table(std::span(rows).first(shown));
  if (rows.size() > shown) text += fmt::format("\n  ... and {} more", rows.size() - shown);
  fail("{} holds another model: {} tensors missing, {} of another shape, {} unexpected; check the model's settings{}",
       where, missing, reshaped, unexpected, text);
}

}  // namespace megalith
