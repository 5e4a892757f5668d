// Finds a field by one of its spellings, and suggests the nearest one.
#include <algorithm>

#include "config/misspelt.h"
#include "config/parse.h"

namespace megalith::config {

// Such a flag is never suggested.
static bool is_refused(const FlagIndex::Entry& entry) {
  return entry.other && !entry.other->accepted && entry.other->means.empty();
}

FlagIndex::FlagIndex(FieldList& fields, std::span<const OtherFlag> others) {
  for (Field& field : fields.all())
    for (const Spelling& spelling : field.spellings) {
      entries_[spelling.flag] = {&field, &spelling, nullptr};
      if (field.bare && !bare_.field) bare_ = entries_[spelling.flag];
    }
  for (const OtherFlag& other : others) entries_.insert({other.flag, Entry{nullptr, nullptr, &other}});
}

FlagIndex::Entry FlagIndex::find(const std::string& flag, std::string_view what) const {
  if (const Entry* entry = known(flag)) return *entry;
  const std::string near = nearest(flag);
  check(!near.empty(), "{}: --help lists all", what);
  fail("{}: the nearest known one is {} (--help lists all)", what, near);
}

// A refused flag is also known with underscores, as transformers writes flags: its reason helps more than a suggestion.
const FlagIndex::Entry* FlagIndex::known(std::string_view flag) const {
  const auto found = entries_.find(flag);
  if (found != entries_.end()) return &found->second;
  if (flag.find('_') == std::string_view::npos) return nullptr;
  std::string dashed(flag);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  const auto other = entries_.find(dashed);
  return other != entries_.end() && is_refused(other->second) ? &other->second : nullptr;
}

// The shortest flag with this prefix, as argparse would choose.
std::string FlagIndex::completion(const std::string& flag) const {
  constexpr size_t kLeast = 5;  // "--tr" begins too many
  std::string best;
  for (auto at = entries_.lower_bound(flag); at != entries_.end() && at->first.starts_with(flag); ++at)
    if (at->second.field && (best.empty() || at->first.size() < best.size())) best = at->first;
  return flag.size() < kLeast ? "" : best;
}

std::string FlagIndex::nearest(const std::string& written) const {
  std::string flag = written;
  for (char& c : flag) c = char(std::tolower(u8(c)));
  if (std::string whole = completion(flag); !whole.empty()) return whole;
  constexpr size_t kLongest = 80;  // a longer one is no misspelling, and must not cost time
  std::string best;
  i64 best_distance = 0;
  bool best_is_field = false;
  for (const auto& [known, entry] : entries_) {
    if (is_refused(entry)) continue;
    const i64 distance = edit_distance(std::string_view(flag).substr(0, kLongest), known);
    const bool is_field = entry.field != nullptr;
    if (!best.empty() && (distance > best_distance || (distance == best_distance && (best_is_field || !is_field))))
      continue;
    best = known, best_distance = distance, best_is_field = is_field;
  }
  // If a third of the letters is wrong, it is another word, and the nearest flag is no help.
  return best_distance * 3 <= i64(flag.size()) ? best : "";
}

}  // namespace megalith::config
