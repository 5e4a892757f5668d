#include "config/other_flag.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace megalith::config {
namespace {

// Names under the reason that they share, in the order of the first of each.
class ByReason {
 public:
  void add(const std::string& name, const std::string& why) {
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const Refusal& r) { return r.why == why; });
    std::vector<std::string>& names = (found == all_.end() ? all_.emplace_back(Refusal{{}, why}) : *found).names;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const std::vector<Refusal>& all() const { return all_; }

 private:
  std::vector<Refusal> all_;
};

bool is_one_of(const std::string& text, std::span<const std::string> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Whether its value asks for the behaviour without the flag.
bool is_neutral(const OtherUse& use) {
  return !use.values.empty() && std::all_of(use.values.begin(), use.values.end(), [&](const std::string& value) {
    return is_one_of(value, use.other->neutral);
  });
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_./:=,+@%").find(c) != std::string_view::npos;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string Refusal::text() const { return fmt::format("{}: {}", fmt::join(names, ", "), why); }

Fates fates_of(std::span<const OtherUse> uses, const std::set<std::string, std::less<>>& given) {
  std::set<std::string, std::less<>> on = given;
  for (const OtherUse& use : uses)
    if (!is_neutral(use)) on.insert(use.other->flag);
  ByReason idle, refused;
  Fates fates;
  for (const OtherUse& use : uses) {
    const OtherFlag& other = *use.other;
    const auto is_on = [&](const std::string& flag) { return on.contains(flag); };
    if (!other.means.empty()) {
      fates.notes.push_back(fmt::format("{} is read as {}", use.name, fmt::join(other.means, " ")));
    } else if (other.accepted) {
      idle.add(use.name, other.why);
    } else if (is_neutral(use)) {
      idle.add(fmt::format("{} {}", use.name, fmt::join(use.values, " ")), "this is so without it");
    } else if (!other.only_with.empty() && std::none_of(other.only_with.begin(), other.only_with.end(), is_on)) {
      idle.add(use.name, fmt::format("it is about {}, which is not given", other.only_with[0]));
    } else {
      refused.add(use.name, other.why);
      fates.refused.push_back(&use);
    }
  }
  for (const Refusal& group : idle.all())
    fates.notes.push_back(fmt::format("{} {} no effect: {}", fmt::join(group.names, ", "),
                                      group.names.size() == 1 ? "has" : "have", group.why));
  fates.refusals = refused.all();
  return fates;
}

std::string line_without(std::span<const std::string> words, std::span<const OtherUse> uses,
                         std::span<const OtherUse* const> refused) {
  std::map<size_t, const OtherUse*> changed;
  for (const OtherUse& use : uses)
    if (use.end > 0 && !use.other->means.empty()) changed[use.begin] = &use;
  for (const OtherUse* use : refused)
    if (use->end > 0) changed[use->begin] = use;
  std::string line;
  const auto say = [&](const std::string& word) { line += (line.empty() ? "" : " ") + quoted(word); };
  for (size_t i = 0; i < words.size();) {
    const auto found = changed.find(i);
    if (found == changed.end()) {
      say(words[i++]);
      continue;
    }
    const OtherUse& use = *found->second;
    i = use.end;
    const std::vector<std::string>& today = use.other->means.empty() ? use.other->instead : use.other->means;
    if (today.empty()) continue;
    for (const std::string& word : today) say(word);
    const bool wants_value = today.back().starts_with("--") && today.back().find('=') == std::string::npos;
    for (const std::string& value : wants_value ? use.values : std::vector<std::string>()) say(value);
  }
  return line;
}

}  // namespace megalith::config
