#include "comm/own_pieces.h"

#include <cstring>

#include "base/check.h"

namespace megalith {

void copy_own_pieces(int rank, std::span<const Piece> sends, std::span<const Piece> receives) {
  auto next = receives.begin();
  const auto find_own = [&] {
    while (next != receives.end() && next->peer != rank) ++next;
  };
  for (const Piece& from : sends) {
    if (from.peer != rank) continue;
    find_own();
    check(next != receives.end(), "exchange: rank {} sends itself more pieces than it receives", rank);
    check(next->bytes == from.bytes, "exchange: rank {} sends itself {} bytes where it receives {}", rank, from.bytes,
          next->bytes);
    if (from.bytes > 0) std::memmove(next->data, from.data, size_t(from.bytes));
    ++next;
  }
  find_own();
  check(next == receives.end(), "exchange: rank {} receives more pieces from itself than it sends", rank);
}

std::vector<Piece> pieces_of_others(const Place& place, std::span<const Piece> pieces) {
  std::vector<Piece> others;
  for (const Piece& p : pieces) {
    check(p.peer >= 0 && p.peer < place.size, "exchange: there is no rank {} among {}", p.peer, place.size);
    check(p.bytes >= 0, "exchange: a piece of {} bytes", p.bytes);
    if (p.peer != place.rank) others.push_back(p);
  }
  return others;
}

}  // namespace megalith
