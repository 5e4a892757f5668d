// The conversations of an epoch, and their order.
#pragma once
#include <vector>

#include "data/numpy_random.h"

namespace megalith {

// One of several files.
struct SftShare {
  i64 conversations = 0;
  double weight = 0;
};

// Without weights an epoch has each conversation once. With weights it has the same number of conversations, divided
// among the files by weight. Each file continues where the previous epoch stopped, and is reshuffled at its end.
class SftOrder {
 public:
  SftOrder(std::vector<SftShare> shares, u32 seed);

  struct Pick {
    i32 file, conversation;
  };
  std::vector<Pick> next_epoch();
  RandomState& random() { return random_; }

 private:
  i32 next_of(std::size_t file);

  std::vector<SftShare> shares_;
  std::vector<i64> take_;                   // conversations of each file per epoch
  std::vector<std::vector<i32>> shuffled_;  // order of each file's conversations
  std::vector<std::size_t> used_;           // next position in each file's order
  RandomState random_;
};

}  // namespace megalith
