#include "tokens/hf/charsmap.h"

#include <cstring>

#include "base/check.h"

namespace megalith::hf {

namespace {

u32 offset_of(u32 unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }
bool has_value(u32 unit) { return unit >> 8 & 1; }
u32 label_of(u32 unit) { return unit & 0x800000FF; }

}  // namespace

Charsmap::Charsmap(std::string_view blob, std::string_view where) {
  u32 size = 0;
  check(blob.size() >= sizeof(size), "{}: the table of replacements is {} bytes long: it is cut short", where,
        blob.size());
  std::memcpy(&size, blob.data(), sizeof(size));
  blob.remove_prefix(sizeof(size));
  check(size % 4 == 0 && size > 0 && size <= blob.size(),
        "{}: the table of replacements says {} bytes of {}: it is cut short or broken", where, size, blob.size());
  units_.resize(size / 4);
  std::memcpy(units_.data(), blob.data(), size);
  replacements_ = blob.substr(size);
}

template <class Found>
void Charsmap::walk(std::string_view text, Found&& found) const {
  size_t at = offset_of(units_[0]);
  for (size_t i = 0; i < text.size() && text[i] != 0; ++i) {
    at ^= u8(text[i]);
    if (at >= units_.size() || label_of(units_[at]) != u8(text[i])) return;
    const u32 unit = units_[at];
    at ^= offset_of(unit);
    if (has_value(unit) && at < units_.size() && !found(units_[at] & 0x7FFFFFFF, i + 1)) return;
  }
}

std::optional<std::string_view> Charsmap::replacement(size_t value) const {
  if (value > replacements_.size()) return std::nullopt;
  const std::string_view rest = std::string_view(replacements_).substr(value);
  return rest.substr(0, rest.find('\0'));
}

std::optional<std::string_view> Charsmap::shortest(std::string_view text) const {
  std::optional<std::string_view> result;
  walk(text, [&](size_t value, size_t) {
    result = replacement(value);
    return false;
  });
  return result;
}

std::optional<Charsmap::Match> Charsmap::longest(std::string_view text) const {
  std::optional<Match> result;
  walk(text, [&](size_t value, size_t length) {
    const auto found = replacement(value);
    if (found) result = Match{*found, length};
    return true;
  });
  return result;
}

bool Charsmap::is_sound() const {
  if (replacements_.empty() || replacements_.back() != '\0') return false;
  std::vector<bool> seen(units_.size());
  std::vector<size_t> open = {offset_of(units_[0])};
  while (!open.empty()) {
    const size_t base = open.back();
    open.pop_back();
    for (size_t c = 0; c < 256; ++c) {
      const size_t at = base ^ c;
      if (at >= units_.size()) return false;
      if (label_of(units_[at]) != c || seen[at]) continue;
      seen[at] = true;
      const size_t next = at ^ offset_of(units_[at]);
      if (has_value(units_[at]) && (next >= units_.size() || (units_[next] & 0x7FFFFFFF) >= replacements_.size())) {
        return false;
      }
      open.push_back(next);
    }
  }
  return true;
}

}  // namespace megalith::hf
