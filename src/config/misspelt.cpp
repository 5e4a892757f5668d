#include "config/misspelt.h"

#include <algorithm>
#include <vector>

namespace megalith::config {

i64 edit_distance(std::string_view a, std::string_view b) {
  std::vector<i64> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = i64(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    i64 diagonal = row[0];
    row[0] = i64(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const i64 above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string misspelt_field(const FlagIndex& index, const std::string& flag) {
  const std::string meant = index.nearest(flag);
  const FlagIndex::Entry* entry = index.known(meant);
  constexpr i64 kSlips = 2;
  return entry && entry->field && edit_distance(flag, meant) <= kSlips ? "--" + entry->field->name : "";
}

std::string meant_field(const FlagIndex& index, const OtherFlag& refused) {
  const FlagIndex::Entry* entry = refused.instead.empty() ? nullptr : index.known(refused.instead.back());
  return entry && entry->field ? "--" + entry->field->name : "";
}

}  // namespace megalith::config
