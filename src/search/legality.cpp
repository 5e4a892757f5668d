#include "search/legality.h"

#include "settings/compatibility.h"

namespace megalith::search {

// The rules depend neither on whether optimizer state is sharded, nor on what overlaps. So layouts that differ only
// in these are checked once.
bool Legality::allows(const Choice& c) {
  Choice key = c;
  key.sharded = true, key.tp_overlap = false;
  const auto [it, is_new] = known_.try_emplace(key, true);
  if (is_new) it->second = keeps_rules(c);
  return it->second;
}

bool Legality::keeps_rules(const Choice& c) {
  std::vector<std::string> lines;
  std::string_view reason;
  try {
    const Options o = with(base_, c, texts_.of(c));
    for (const bool ground : {true, false})
      for (const Rule& rule : compatibility_rules()) {
        if (rule.ground != ground || rule.action == Rule::Action::warn || (!ground && !lines.empty() && any_legal_))
          continue;
        const std::string line = rule.broken(o);
        if (line.empty()) continue;
        if (lines.empty()) reason = rule.what;
        lines.push_back(line);
      }
  } catch (const Error& e) {
    lines.push_back(e.what()), reason = "the model and its stages can be built";
  }
  if (lines.empty()) return any_legal_ = true;
  refuse(std::string(reason), lines[0]);
  keep_common(lines);
  return false;
}

void Legality::keep_common(const std::vector<std::string>& lines) {
  if (any_legal_) return;
  std::set<std::string> here(lines.begin(), lines.end());
  if (!any_refused_) {
    common_ = std::move(here), any_refused_ = true;
    return;
  }
  std::erase_if(common_, [&](const std::string& line) { return !here.contains(line); });
}

void Legality::refuse(const std::string& reason, const std::string& example) {
  Refused& r = reasons_[reason];
  if (r.count++ == 0) r.example = example;
}

}  // namespace megalith::search
