#include "data/fim.h"

#include <algorithm>

#include "base/check.h"

namespace megalith {
namespace {

using Tokens = std::span<const i32>;

void append(Tokens tokens, std::vector<i32>& out) { out.insert(out.end(), tokens.begin(), tokens.end()); }

// Copies the marks to `out`, and calls `between` for each non-empty range before, between and after them.
template <class F>
void at_marks(Tokens tokens, i32 mark, std::vector<i32>& out, F&& between) {
  for (;;) {
    const auto size = std::size_t(std::ranges::find(tokens, mark) - tokens.begin());
    if (size > 0) between(tokens.first(size));
    if (size == tokens.size()) return;
    out.push_back(mark);
    tokens = tokens.subspan(size + 1);
  }
}

// The start of each character of valid UTF-8, and the end of the last.
std::vector<std::size_t> character_starts(std::string_view text) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((u8(text[i]) & 0xC0) != 0x80) starts.push_back(i);
  starts.push_back(text.size());
  return starts;
}

}  // namespace

FillInTheMiddle::FillInTheMiddle(FimConfig config, i64 seed, FimText text)
    : config_(std::move(config)),
      seed_(seed),
      text_(std::move(text)),
      prefix_(id_of("prefix-token", config_.prefix_token)),
      middle_(id_of("middle-token", config_.middle_token)),
      suffix_(id_of("suffix-token", config_.suffix_token)),
      pad_(id_of("pad-token", config_.pad_token)),
      eod_(id_of("eod-token", config_.eod_token)),
      split_(config_.split_sample.empty() ? -1 : id_of("split-sample", config_.split_sample)) {}

i32 FillInTheMiddle::id_of(const char* flag, const std::string& token) const {
  const i32 id = text_.find(token);
  check(id >= 0, "--fim-{} {}: the tokenizer has no such token: name one that it has", flag, token);
  return id;
}

void FillInTheMiddle::operator()(i64 sample, std::vector<i32>& tokens) const {
  RandomState random(u32(seed_ + sample));
  std::vector<i32> out;
  out.reserve(tokens.size());
  at_marks(tokens, eod_, out, [&](Tokens one) { document(one, random, out); });
  out.resize(tokens.size(), pad_);
  tokens = std::move(out);
}

void FillInTheMiddle::document(Tokens tokens, RandomState& random, std::vector<i32>& out) const {
  if (split_ < 0 || std::ranges::find(tokens, split_) == tokens.end())
    return fragment(tokens, config_.rate, random, out);
  if (!random.binomial(config_.rate)) return append(tokens, out);
  at_marks(tokens, split_, out, [&](Tokens one) { fragment(one, config_.fragment_rate, random, out); });
}

void FillInTheMiddle::fragment(Tokens tokens, double rate, RandomState& random, std::vector<i32>& out) const {
  if (!random.binomial(rate)) return append(tokens, out);
  const std::string all = text_.decode(tokens);
  if (!config_.no_prefix.empty() && all.starts_with(config_.no_prefix)) return append(tokens, out);

  const std::vector<std::size_t> starts = character_starts(all);
  const u64 characters = starts.size() - 1;
  std::size_t from = starts[random.interval(characters)], to = starts[random.interval(characters)];
  if (from > to) std::swap(from, to);
  const std::string_view view = all;
  const auto put = [&](std::string_view part) { append(text_.encode(part), out); };

  out.push_back(prefix_);
  if (random.binomial(config_.spm_rate)) {
    out.push_back(suffix_), put(view.substr(to));
    out.push_back(middle_), put(view.substr(0, from));
  } else {
    put(view.substr(0, from));
    out.push_back(suffix_), put(view.substr(to));
    out.push_back(middle_);
  }
  put(view.substr(from, to - from));
}

}  // namespace megalith
