#include "comm/snapshot_fds.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/parse_count.h"

namespace megalith {

static i64 number_in(std::string_view text, std::string_view whole) {
  const auto n = parse_count(text);
  check(n && *n < i64{1} << 30, "MEGALITH_SNAPSHOT_FDS is {}: only `megalith launch` sets it", whole);
  return *n;
}

SnapshotFds SnapshotFds::from(const Environment& env) {
  SnapshotFds s;
  const char* text = env("MEGALITH_SNAPSHOT_FDS");
  if (!text) return s;
  const std::string_view whole = text;
  const size_t colon = whole.find(':');
  s.steps = number_in(whole.substr(0, colon), whole);
  for (size_t at = colon; at < whole.size();) {
    const size_t end = std::min(whole.find(',', at + 1), whole.size());
    s.fds.push_back(int(number_in(whole.substr(at + 1, end - at - 1), whole)));
    at = end;
  }
  check(s.fds.size() % kSnapshotSlots == 0, "MEGALITH_SNAPSHOT_FDS is {}: want {} a rank", whole, kSnapshotSlots);
  return s;
}

std::string SnapshotFds::text() const { return fmt::format("{}:{}", steps, fmt::join(fds, ",")); }

}  // namespace megalith
