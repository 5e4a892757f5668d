// What single blocks of the model cost a rank: each kind of block is planned by the trainer's own planner as a pipeline
// stage of its own, and run against the clock. All layouts with the same tensor-, context- and expert-parallel ranks,
// micro-batch and recomputation are put together of these.
#pragma once
#include <map>
#include <memory>

#include "facts/device_facts.h"
#include "search/choice.h"

namespace megalith::search {

struct BlockCost {
  double forward = 0, backward = 0;  // seconds of a micro-batch
  double weights = 0;                // gradients of weights, where they are tasks of their own
  double update = 0;                 // seconds of the update where each rank makes all of it
  double dense = 0, experts = 0;     // elements of a rank's parameters
  double tied = 0;                   // of them, of a table that the last block has too
  double gradient_bytes = 0, weight_bytes = 0, state_bytes = 0;  // of one element of them
  double kept = 0;     // bytes of a micro-batch from its forward to its backward
  double working = 0;  // bytes of temporaries at the most
  double sent = 0;     // bytes of its output
};

class BlockCosts {
 public:
  BlockCosts(const Options& base, const DeviceFacts& facts);
  ~BlockCosts();

  // Of each kind of block, by the number of a block of that kind; of a choice only what the blocks depend on is used.
  const std::map<int, BlockCost>& of(const Choice& c);
  // The number by which blocks of this one's kind are known.
  int kind(int block) const { return kinds_.at(size_t(block)); }
  int blocks() const { return int(kinds_.size()); }
  i64 planned() const { return planned_; }  // stages so far

 private:
  BlockCost plan(const Options& o, int block, bool zero_bubble);

  const BlockCost& end_of_model(const Options& o, const Choice& key, int block);
  bool is_end(int block) const { return (block == 0 || block + 1 == blocks()) && base_.model.mtp.num_layers == 0; }

  const Options& base_;
  const DeviceFacts& facts_;
  std::vector<int> kinds_;  // by block
  std::map<Choice, std::map<int, BlockCost>> known_;
  std::map<std::pair<Choice, int>, BlockCost> ends_;
  i64 planned_ = 0;
};

}  // namespace megalith::search
