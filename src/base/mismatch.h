// How two things differ, as a part of an error of one line.
#pragma once
#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string>

namespace megalith {

struct Mismatch {
  std::string name;
  std::string expected, found;  // empty: nothing of that name
};

// "a: 3 there, 4 here; b: nothing there, 1 here; and 7 more": the first few of them.
inline std::string list_mismatches(std::span<const Mismatch> all) {
  constexpr std::size_t kShown = 4;
  const auto value = [](const std::string& text) { return text.empty() ? "nothing" : text.c_str(); };
  std::string out;
  for (const Mismatch& m : all.first(std::min(all.size(), kShown)))
    out += fmt::format("{}{}: {} there, {} here", out.empty() ? "" : "; ", m.name, value(m.found), value(m.expected));
  if (all.size() > kShown) out += fmt::format("; and {} more", all.size() - kShown);
  return out;
}

}  // namespace megalith
