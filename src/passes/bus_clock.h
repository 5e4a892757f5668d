// Simulates the bus between device and host for offloaded values. The clock has the graph's nodes, with ops' costs at
// a GPU's rates. A store begins where its value is computed. A fetch begins as late as possible, so its copy lives
// briefly. Each direction transfers one value after another. If the clock is wrong a run waits; its results are the
// same.
#pragma once
#include "passes/kept_values.h"

namespace megalith {

// Of an H100 on PCIe 5, with some room.
struct BusRates {
  double products = 6.8e14, attention = 5e14, others = 3e13;  // flop/s
  double memory = 2.8e12, bus = 4.8e10;                       // bytes/s; of the bus each way
  double launch = 3e-6;                                       // seconds of a node
};

struct Trip {  // of a value
  size_t kept;
  int stored = 0;   // the node before which its store is waited for
  int fetched = 0;  // the node before which its fetch begins
};

struct Timetable {
  std::vector<Trip> trips;  // by when they are fetched
  double wait = 0;          // seconds that the device waits
};

class BusClock {
 public:
  // `apart`: forward and backward are separate programs.
  BusClock(const Graph& g, const std::vector<KeptValue>& kept, const BusRates& rates, bool apart);

  // Stores end before the forward leaves the layers, even if the device must wait. Fetches start with the layers'
  // backward. Memory use peaks between the two. Earlier the device waits only if it would hold too much: more than the
  // values that stay and two layers in transfer.
  Timetable timetable(const std::vector<size_t>& chosen) const;

  double on_bus(size_t kept) const { return double(bytes_[kept]) / rates_.bus; }
  double made_again(size_t kept) const;  // seconds, a lower bound: of the node that computes it
  i64 bytes(size_t kept) const { return bytes_[kept]; }
  double forward() const { return begins_[size_t(forward_end_)]; }  // seconds

 private:
  // One direction, in its own order of nodes: for the backward the last is the first, and a fetch is a store.
  struct Direction {
    std::vector<double> begins;                 // by node, and the end
    std::vector<std::pair<int, size_t>> comes;  // nodes that compute values, and the values; in order
    int end = 0;                                // the node by which all transfers have ended
  };
  double seconds(const Graph& g, const Node& n) const;
  void find_directions(const Graph& g, bool apart);
  i64 most_bytes(const std::vector<bool>& goes) const;
  double run(const Direction& d, const std::vector<bool>& goes, double longer, std::vector<int>& gone) const;

  const std::vector<KeptValue>& kept_;
  BusRates rates_;
  std::vector<double> begins_;  // by node, and the end
  std::vector<i64> bytes_;      // of a rank
  int forward_end_ = 0;
  Direction there_, back_;
};

}  // namespace megalith
