#include "ckpt/tensors/tensor_table.h"

#include <unordered_map>

#include "base/check.h"
#include "base/mismatch.h"

namespace megalith {

void check_same_tensors(const std::string& where, std::span<const NamedShape> expected,
                        std::span<const NamedShape> found) {
  std::unordered_map<std::string, const Shape*> left;
  for (const NamedShape& t : found) left.emplace(t.name, &t.shape);
  std::vector<Mismatch> mismatches;
  i64 missing = 0, reshaped = 0;
  for (const NamedShape& t : expected) {
    const auto it = left.find(t.name);
    if (it == left.end()) {
      mismatches.push_back({t.name, to_string(t.shape), ""}), ++missing;
    } else {
      if (*it->second != t.shape)
        mismatches.push_back({t.name, to_string(t.shape), to_string(*it->second)}), ++reshaped;
      left.erase(it);
    }
  }
  const auto unexpected = left.size();
  for (const NamedShape& t : found)
    if (left.contains(t.name)) mismatches.push_back({t.name, "", to_string(t.shape)});
  check(
      mismatches.empty(),
      "{} holds another model: {} tensors missing, {} of another shape, {} unexpected ({}): check the model's settings",
      where, missing, reshaped, unexpected, list_mismatches(mismatches));
}

}  // namespace megalith
