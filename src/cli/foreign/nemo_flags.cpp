#include "cli/foreign/nemo_flags.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace megalith {

void NemoFlags::put(const std::string& flag, std::vector<std::string> values, bool by_user) {
  const auto same = std::ranges::find(flags_, flag, &Flag::name);
  if (same == flags_.end())
    flags_.push_back({flag, std::move(values), by_user});
  else if (by_user || !same->by_user)
    *same = {flag, std::move(values), by_user};
}

bool NemoFlags::has(const std::string& flag) const {
  return std::ranges::find(flags_, flag, &Flag::name) != flags_.end();
}

std::string NemoFlags::value(const std::string& flag) const {
  const auto found = std::ranges::find(flags_, flag, &Flag::name);
  return found == flags_.end() || found->values.empty() ? "" : found->values[0];
}

void NemoFlags::idle(const std::string& why, const NemoValue& value) {
  if (!value.written.empty()) idle_[why].push_back(value.written);
}

void NemoFlags::refuse(const std::string& why, const std::string& key, const NemoValue& value) {
  refused_[why].push_back(value.written.empty() ? fmt::format("{}={}", key, fmt::join(value.items, ","))
                                                : value.written);
}

Translation NemoFlags::take(std::string whose, const std::vector<std::string>& own_words) const {
  Translation t{.whose = std::move(whose), .command = "pretrain-gpt", .words = {}, .notes = {}, .wrong = wrong_};
  for (const Flag& flag : flags_) {
    const auto again = [&](const std::string& word) { return word == flag.name || word.starts_with(flag.name + "="); };
    if (std::ranges::any_of(own_words, again)) continue;  // also given as a flag of ours
    t.words.push_back(flag.name);
    t.words.insert(t.words.end(), flag.values.begin(), flag.values.end());
  }
  t.words.insert(t.words.end(), own_words.begin(), own_words.end());
  for (const auto& [why, keys] : refused_) t.wrong.push_back(fmt::format("{}: {}", fmt::join(keys, ", "), why));
  for (const auto& [why, keys] : idle_)
    t.notes.push_back(
        fmt::format("{} {} no counterpart: {}", fmt::join(keys, ", "), keys.size() > 1 ? "have" : "has", why));
  return t;
}

}  // namespace megalith
