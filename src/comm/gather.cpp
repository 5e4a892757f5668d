// Ranks send their texts to rank 0. It may answer all ranks with all texts, or with the error that names the missing
// ranks.
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

// On rank 0: all texts, or why some are missing.
struct Received {
  std::vector<std::string> texts;
  std::string error;
};

Received receive_all(Mail& mail, int size, const std::string& mine, double timeout_seconds, const std::string& doing) {
  Received all{std::vector<std::string>(size_t(size)), ""};
  all.texts[0] = mine;
  std::vector<int> missing;
  for (int r = 1; r < size; ++r) missing.push_back(r);
  Patience patience(timeout_seconds);
  while (!missing.empty() && !patience.is_over()) {
    const size_t came = std::erase_if(missing, [&](int r) { return mail.receive(r, all.texts[size_t(r)]); });
    if (came == 0) patience.pause();
  }
  if (!missing.empty())
    all.error = fmt::format("{}: {} did not come within {} s", doing, list_ranks(missing), timeout_seconds);
  return all;
}

std::vector<std::string> gather_at_root(Mail& mail, int size, const std::string& mine, double timeout_seconds,
                                        const std::string& doing) {
  Received all = receive_all(mail, size, mine, timeout_seconds, doing);
  const std::string answer = all.error.empty() ? packed(all.texts) : kError + all.error;
  for (int r = 1; r < size; ++r) mail.send(r, answer);
  flush(mail, Patience(all.error.empty() ? timeout_seconds : 1));
  if (!all.error.empty()) throw Error(all.error);
  return std::move(all.texts);
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

std::vector<std::string> gather_at_first(Mail& mail, const Place& place, const std::string& mine,
                                         double timeout_seconds, const std::string& doing) {
  if (place.rank == 0) {
    Received all = receive_all(mail, place.size, mine, timeout_seconds, doing);
    if (!all.error.empty()) throw Error(all.error);
    return std::move(all.texts);
  }
  mail.send(0, mine);
  flush(mail, Patience(timeout_seconds));
  check(mail.sent(), "{}: rank 0 did not take this rank's within {} s", doing, timeout_seconds);
  return {};
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
