#include "tests/parallel/part.h"

#include "base/check.h"

namespace megalith::parity {

constexpr int kTextTag = 30000;

Part::Part(Ranks& all, int first, int size) : all_(all), first_(first) {
  check(all.rank() >= first && all.rank() < first + size, "rank {} is not one of {} from {} on", all.rank(), size,
        first);
  place_ = {.rank = all.rank() - first, .size = size, .local_rank = all.rank() - first, .local_size = size};
}

int Part::exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) {
  std::vector<Piece> to(sends.begin(), sends.end()), from(receives.begin(), receives.end());
  for (auto* pieces : {&to, &from})
    for (Piece& p : *pieces) p.peer += first_;
  return all_.exchange(tag, to, from);
}

std::vector<std::string> Part::all_gather(const std::string& mine) {
  i64 length = i64(mine.size());
  std::vector<i64> lengths(place_.size, 0);
  std::vector<std::string> texts(place_.size, std::string());
  const auto to_all = [&](void* data, i64 bytes, auto&& place_of) {
    std::vector<Piece> sends, receives;
    for (int r = 0; r < size(); ++r) sends.push_back({r, data, bytes}), receives.push_back(place_of(r));
    wait(exchange(kTextTag, sends, receives));
  };
  to_all(&length, sizeof length, [&](int r) { return Piece{r, &lengths[size_t(r)], sizeof(i64)}; });
  std::string sent = mine;
  to_all(sent.data(), length, [&](int r) {
    texts[size_t(r)].resize(size_t(lengths[size_t(r)]));
    return Piece{r, texts[size_t(r)].data(), lengths[size_t(r)]};
  });
  return texts;
}

std::vector<std::string> Part::gather(const std::string& mine) {
  std::vector<std::string> texts = all_gather(mine);
  if (rank() != 0) texts.clear();
  return texts;
}

}  // namespace megalith::parity
