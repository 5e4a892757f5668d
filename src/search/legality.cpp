#include "search/legality.h"

#include <fmt/format.h>

#include <algorithm>

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

std::vector<Legality::Broken> Legality::broken_rules(const Choice& c) {
  std::vector<Broken> out;
  try {
    const Options o = with(base_, c, texts_.of(c));
    for (const bool ground : {true, false})
      for (const Rule& rule : compatibility_rules()) {
        if (rule.ground != ground || rule.action == Rule::Action::warn || (!ground && !out.empty() && any_legal_))
          continue;
        if (const std::string line = rule.broken(o); !line.empty()) out.push_back({std::string(rule.what), line});
      }
  } catch (const Error& e) {
    out.push_back({"the model and its stages can be built", e.what()});
  }
  return out;
}

bool Legality::keeps_rules(const Choice& c) {
  const std::vector<Broken> broken = broken_rules(c);
  if (broken.empty()) return any_legal_ = true;
  refuse(broken[0].rule, broken[0].line);
  keep_common(c, broken);
  return false;
}

void Legality::keep_unfit(const Unfit& unfit) {
  if (first_refused_ && common_.empty()) return;
  std::vector<Broken> broken = broken_rules(unfit.choice);
  if (broken.empty()) broken.push_back({unfit.reason, unfit.reason});
  keep_common(unfit.choice, broken);
}

void Legality::keep_common(const Choice& c, const std::vector<Broken>& broken) {
  if (any_legal_) return;
  if (!first_refused_) {
    first_refused_ = c;
    for (const Broken& b : broken) common_.try_emplace(b.rule, b.line);
    return;
  }
  std::map<std::string, Common> still;
  for (const Broken& b : broken)
    if (const auto at = common_.find(b.rule); at != common_.end())
      still[b.rule] = {at->second.line, at->second.differs || at->second.line != b.line};
  common_ = std::move(still);
}

std::vector<std::string> Legality::mistakes() const {
  std::vector<std::string> out;
  for (const auto& [rule, common] : common_)
    out.push_back(common.differs ? fmt::format("{} (in the layout {}; every layout breaks this rule)", common.line,
                                               to_string(*first_refused_))
                                 : common.line);
  return out;
}

void Legality::refuse(const std::string& reason, const std::string& example) {
  Refused& r = reasons_[reason];
  if (r.count++ == 0) r.example = example;
}

}  // namespace megalith::search
