#include "data/sft_packing.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace megalith {

namespace {

// The free space of n bins. Finds the first bin with enough of it, by a tree of maxima: the children of node i are 2i
// and 2i+1.
class Room {
 public:
  Room(std::size_t bins, i64 capacity) : leaves_(std::bit_ceil(std::max<std::size_t>(bins, 1))) {
    room_.assign(2 * leaves_, capacity);
  }

  // Uses space of the first bin with at least `length` free, and returns the bin.
  std::size_t take(i64 length) {
    std::size_t node = 1;
    while (node < leaves_) node = 2 * node + (room_[2 * node] < length);
    const std::size_t bin = node - leaves_;
    room_[node] -= length;
    for (node /= 2; node > 0; node /= 2) room_[node] = std::max(room_[2 * node], room_[2 * node + 1]);
    return bin;
  }

 private:
  std::size_t leaves_;
  std::vector<i64> room_;
};

}  // namespace

std::vector<std::vector<i32>> pack_first_fit(std::span<const i64> lengths, i64 capacity) {
  Room room(lengths.size(), capacity);
  std::vector<std::vector<i32>> bins;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    check(lengths[i] >= 1 && lengths[i] <= capacity, "a length of {} does not fit into {}", lengths[i], capacity);
    const std::size_t bin = room.take(lengths[i]);
    if (bin == bins.size()) bins.emplace_back();
    bins[bin].push_back(i32(i));
  }
  return bins;
}

}  // namespace megalith
