// What single blocks of the model cost a rank. The trainer's planner plans each kind of block as a pipeline stage by
// itself, and a simulated clock times it. Layouts with the same tensor-, context- and expert-parallel ranks,
// micro-batch and recomputation share these costs.
#pragma once
#include <map>
#include <memory>

#include "facts/device_facts.h"
#include "search/choice.h"

namespace megalith::search {

struct BlockCost {
  double forward = 0, backward = 0;  // seconds of a micro-batch
  double weights = 0;                // weight gradients, if they are separate tasks
  double update = 0;                 // seconds of the whole update on one rank
  double dense = 0, experts = 0;     // number of a rank's parameters
  double tied = 0;                   // of `dense`: parameters of a table that the last block also has
  double gradient_bytes = 0, weight_bytes = 0, state_bytes = 0;  // of one parameter
  double kept = 0;     // bytes that one micro-batch keeps from forward to backward
  double working = 0;  // peak bytes of temporaries
  double sent = 0;     // bytes of its output
};

class BlockCosts {
 public:
  BlockCosts(const Options& base, const DeviceFacts& facts);
  ~BlockCosts();

  // The cost of each kind of block, by the index of one block of that kind. It uses only the parts of a choice that
  // blocks depend on.
  const std::map<int, BlockCost>& of(const Choice& c);
  // The index that stands for all blocks of this one's kind.
  int kind(int block) const { return kinds_.at(size_t(block)); }
  int blocks() const { return int(kinds_.size()); }
  i64 planned() const { return planned_; }  // number of planned stages so far

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
