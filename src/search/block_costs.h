// What single blocks of the model cost a rank. The trainer's planner plans each kind of block as a pipeline stage by
// itself, and a simulated clock times it. Layouts with the same tensor-, context- and expert-parallel ranks,
// micro-batch and recomputation share these costs.
#pragma once
#include <map>
#include <memory>

#include "exec/sim/facts_clock.h"
#include "search/choice.h"

namespace megalith::search {

struct BlockCost {
  double forward = 0, backward = 0;  // seconds of a micro-batch
  double weights = 0;                // weight gradients, if they are separate tasks
  // Tensor-parallel transfers of `forward` and of `backward`, which may overlap with products.
  double hideable_forward = 0, hideable = 0;
  double lead = 0;                // seconds that `backward` of a stage's first block of this kind takes more
  double update = 0;              // seconds of the whole update on one rank
  double dense = 0, experts = 0;  // number of a rank's parameters
  double tied = 0;                // of `dense`: parameters of a table that the last block also has
  double gradient_bytes = 0, weight_bytes = 0, state_bytes = 0;  // of one parameter
  double kept = 0;     // bytes that one micro-batch keeps from forward to backward, with the block's input
  double working = 0;  // peak bytes of temporaries
  double sent = 0;     // bytes of its output
};

class BlockCosts {
 public:
  BlockCosts(const Options& base, const DeviceFacts& facts);
  ~BlockCosts();

  // The cost of each kind of block, by the index of one block of that kind. It uses only the parts of a choice that
  // blocks depend on. No transfer between tensor-parallel ranks overlaps.
  const std::map<int, BlockCost>& of(const Choice& c);
  // The same with --tp-comm-overlap, which overlaps across layers: the cost of a second layer after a first one.
  // nullptr if the layers differ.
  const std::map<int, BlockCost>* overlapped(const Choice& c);
  // Plans what of() will need of these choices, several at once. of() reports the errors.
  void prepare(const std::vector<Choice>& choices);
  // The index that stands for all blocks of this one's kind.
  int kind(int block) const { return kinds_.at(size_t(block)); }
  int blocks() const { return int(kinds_.size()); }
  const sim::FactsClock& clock() const { return clock_; }

 private:
  using Block = std::pair<Choice, int>;  // the parts of a choice that the block depends on, and its index

  const std::map<int, BlockCost>& of_key(const Choice& key);
  Block block_of(const Choice& key, int block) const;
  BlockCost cost(const Block& block) const;
  BlockCost plan(const Options& o, int block, bool zero_bubble, int count = 1) const;
  BlockCost second_layer(const Options& o, int block, bool zero_bubble) const;
  bool is_end(int block) const { return (block == 0 || block + 1 == blocks()) && base_.model.mtp.num_layers == 0; }

  const Options& base_;
  std::shared_ptr<const DeviceFacts> facts_;
  const sim::FactsClock clock_;
  std::vector<int> kinds_;  // by block
  std::map<Choice, std::map<int, BlockCost>> known_;
  std::map<Block, BlockCost> costs_;
};

}  // namespace megalith::search
