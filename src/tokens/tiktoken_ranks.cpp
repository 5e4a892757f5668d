// Each token needs only one rule: the last merge when the token's own text is encoded. Merges inside a token do not
// depend on the text around it, so only one pair ever forms it. To find the pair, it tries the rules of all ways to cut
// the token into two tokens.
#include "tokens/tiktoken_ranks.h"

#include <charconv>
#include <fstream>

#include "base/check.h"

namespace megalith {

namespace {

constexpr size_t kLongestToken = 1024;  // bytes; OpenAI's have 128 at most. Limits the time to load a malicious file.

using Ranks = StringMap<u32>;

std::vector<BpeMerges::Rule> all_rules(const std::vector<std::string>& tokens, const Ranks& ranks) {
  std::vector<BpeMerges::Rule> rules;
  for (u32 rank = 0; rank < tokens.size(); ++rank) {
    const std::string_view token = tokens[rank];
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = ranks.find(token.substr(0, cut));
      if (left == ranks.end()) continue;
      const auto right = ranks.find(token.substr(cut));
      if (right != ranks.end()) rules.push_back({left->second, right->second, {rank, rank}});
    }
  }
  return rules;
}

// The last merge in the encoding of a token's own text. left == right == rank if no merges lead to it.
BpeMerges::Rule last_merge(const BpeMerges& merges, const std::string& token, u32 rank) {
  std::vector<u32> s;
  for (char c : token) s.push_back(merges.id_of_byte(u8(c)));
  BpeMerges::Rule last{rank, rank, {rank, rank}};
  while (s.size() > 1) {
    BpeMerges::Merge best;
    size_t at = 0;
    for (size_t i = 0; i + 1 < s.size(); ++i) {
      const BpeMerges::Merge m = merges.find(s[i], s[i + 1]);
      if (m.rank < best.rank) best = m, at = i;
    }
    if (best.rank == BpeMerges::kNoRank) return {rank, rank, {rank, rank}};
    last = {s[at], s[at + 1], best};
    s[at] = best.id;
    s.erase(s.begin() + i64(at) + 1);
  }
  return last;
}

u32 parse_rank(std::string_view text, const std::string& where) {
  u32 rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const bool ok = error == std::errc() && end == text.data() + text.size() && rank < BpeMerges::kNoRank;
  check(ok, "{}: \"{}\" is not a rank: want a whole number below {}", where, text.substr(0, 40), BpeMerges::kNoRank);
  return rank;
}

}  // namespace

std::string decode_base64(std::string_view text, const std::string& where) {
  const std::string_view all = text;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  u32 bits = 0, count = 0;
  for (char c : text) {
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    check(value >= 0, "{}: \"{}\" is not base64", where, all.substr(0, 40));
    bits = bits << 6 | u32(value), count += 6;
    if (count >= 8) count -= 8, out += char(bits >> count);
  }
  check(count < 6, "{}: \"{}\" is not base64: it is cut short", where, all.substr(0, 40));
  return out;
}

std::vector<std::string> read_ranks(const std::string& file) {
  std::ifstream in(file);
  check(in.is_open(), "--tokenizer-model {}: cannot be read: does it exist?", file);
  std::vector<std::pair<u32, std::string>> pairs;
  std::string line;
  u32 most = 0;
  for (i64 number = 1; std::getline(in, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::string where = fmt::format("{}:{}", file, number);
    const size_t space = line.find(' ');
    check(space != std::string::npos, "{}: \"{}\" is not a token: want base64, a space and a rank", where,
          line.substr(0, 40));
    const u32 rank = parse_rank(std::string_view(line).substr(space + 1), where);
    most = std::max(most, rank);
    pairs.emplace_back(rank, decode_base64(std::string_view(line).substr(0, space), where));
    check(!pairs.back().second.empty(), "{}: the token is empty", where);
  }
  check(!pairs.empty(), "{}: no tokens: want lines of base64, a space and a rank", file);
  check(most <= 4 * pairs.size() + 1000, "{}: rank {} leaves too many holes among {} tokens", file, most, pairs.size());
  std::vector<std::string> tokens(size_t(most) + 1);
  for (auto& [rank, token] : pairs) {
    check(tokens[rank].empty(), "{}: two tokens have rank {}: ranks must differ", file, rank);
    tokens[rank] = std::move(token);
  }
  return tokens;
}

ByteBpe bpe_of_ranks(const std::vector<std::string>& tokens, i32 first_id, const std::string& file) {
  Ranks ranks;
  for (u32 rank = 0; rank < tokens.size(); ++rank) {
    const std::string& token = tokens[rank];
    if (token.empty()) continue;
    check(token.size() <= kLongestToken, "{}: the token of rank {} is {} bytes long: at most {} are possible", file,
          rank, token.size(), kLongestToken);
    const auto [other, is_new] = ranks.try_emplace(token, rank);
    check(is_new, "{}: ranks {} and {} have the same token", file, other->second, rank);
  }
  std::array<u32, 256> bytes{};
  for (u32 b = 0; b < 256; ++b) {
    const auto found = ranks.find(std::string(1, char(b)));
    check(found != ranks.end(), "{}: no token for byte {}: want a byte-level vocabulary", file, b);
    bytes[b] = found->second;
  }
  const u32 first = u32(first_id);
  std::vector<BpeMerges::Rule> rules;
  {
    const BpeMerges all(bytes, all_rules(tokens, ranks));
    for (u32 rank = 0; rank < tokens.size(); ++rank) {
      if (tokens[rank].size() < 2) continue;
      const BpeMerges::Rule rule = last_merge(all, tokens[rank], rank);
      if (rule.left != rank) rules.push_back({rule.left + first, rule.right + first, {rank, rank + first}});
    }
  }
  for (u32& id : bytes) id += first;
  ByteBpe bpe{BpeMerges(bytes, rules)};
  bpe.keep_whole(tokens, first_id);
  return bpe;
}

}  // namespace megalith
