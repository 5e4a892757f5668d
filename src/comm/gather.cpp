// Ranks send their texts to rank 0, which answers all with all of them, or with the error that names the missing ones.
#include "comm/gather.h"

#include <cstring>

#include "base/check.h"
#include "comm/patience.h"

namespace megalith {
namespace {

constexpr char kTexts = 'T', kError = 'E';

std::string packed(const std::vector<std::string>& texts) {
  std::string all(1, kTexts);
  for (const std::string& t : texts) {
    const u64 bytes = t.size();
    all.append(reinterpret_cast<const char*>(&bytes), sizeof bytes).append(t);
  }
  return all;
}

std::vector<std::string> unpacked(std::string_view all, int size) {
  std::vector<std::string> texts;
  all.remove_prefix(1);
  for (int r = 0; r < size; ++r) {
    u64 bytes = 0;
    check(all.size() >= sizeof bytes, "rank 0's answer to all_gather ends early: do all ranks run the same program?");
    std::memcpy(&bytes, all.data(), sizeof bytes);
    all.remove_prefix(sizeof bytes);
    check(all.size() >= bytes, "rank 0's answer to all_gather ends early: do all ranks run the same program?");
    texts.emplace_back(all.substr(0, bytes));
    all.remove_prefix(bytes);
  }
  return texts;
}

void flush(Mail& mail, const Patience& until) {
  Patience patience(0);
  while (!mail.sent() && !until.is_over()) patience.pause();
}

std::vector<std::string> gather_at_root(Mail& mail, int size, const std::string& mine, double timeout_seconds,
                                        const std::string& doing) {
  std::vector<std::string> texts(size);
  texts[0] = mine;
  std::vector<int> missing;
  for (int r = 1; r < size; ++r) missing.push_back(r);
  Patience patience(timeout_seconds);
  while (!missing.empty() && !patience.is_over()) {
    const size_t came = std::erase_if(missing, [&](int r) { return mail.receive(r, texts[r]); });
    if (came == 0) patience.pause();
  }
  std::string answer;
  if (missing.empty())
    answer = packed(texts);
  else
    answer = fmt::format("{}{}: {} did not come within {} s", kError, doing, list_ranks(missing), timeout_seconds);
  for (int r = 1; r < size; ++r) mail.send(r, answer);
  flush(mail, Patience(missing.empty() ? timeout_seconds : 1));
  if (!missing.empty()) throw Error(answer.substr(1));
  return texts;
}

}  // namespace

std::vector<std::string> gather_texts(Mail& mail, const Place& place, const std::string& mine, double timeout_seconds,
                                      const std::string& doing) {
  if (place.rank == 0) return gather_at_root(mail, place.size, mine, timeout_seconds, doing);
  mail.send(0, mine);
  std::string answer;
  // A little longer than rank 0 waits, whose error knows more.
  Patience patience(timeout_seconds * 1.05 + 2);
  while (!mail.receive(0, answer)) {
    check(!patience.is_over(), "{}: rank 0 did not answer within {} s", doing, timeout_seconds);
    patience.pause();
  }
  if (answer.starts_with(kError)) throw Error(answer.substr(1));
  flush(mail, patience);
  return unpacked(answer, place.size);
}

std::string list_ranks(const std::vector<int>& ranks) {
  constexpr size_t kMost = 16;
  const size_t shown = std::min(ranks.size(), kMost);
  std::string list = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) list += i + 1 == ranks.size() ? " and " : ", ";
    list += std::to_string(ranks[i]);
  }
  if (shown < ranks.size()) list += fmt::format(" and {} more", ranks.size() - shown);
  return list;
}

}  // namespace megalith
