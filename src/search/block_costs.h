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
  // Seconds that the first block of this kind in a piece takes more: it shares no work with a layer before it.
  double lead_forward = 0, lead_backward = 0, lead_weights = 0;
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
  // The same with the cost of a second layer after a first one of its kind. Transfers overlap with work of its
  // neighbour, also by --tp-comm-overlap. nullptr if no two layers of a kind come one after another.
  const std::map<int, BlockCost>* of_pairs(const Choice& c);
  // Plans what of() or of_pairs() will need of these choices, several at once. Those report the errors.
  void prepare(const std::vector<Choice>& choices);
  void prepare_pairs(const std::vector<Choice>& choices);
  // The index that stands for all blocks of this one's kind.
  int kind(int block) const { return kinds_.at(size_t(block)); }
  int blocks() const { return int(kinds_.size()); }
  const sim::FactsClock& clock() const { return clock_; }

 private:
  // The parts of a choice that blocks depend on. pair: of the second of two layers.
  struct Key {
    Choice choice;
    bool pair = false;
    auto operator<=>(const Key&) const = default;
  };
  using Block = std::pair<Key, int>;  // and its index

  static Key key_of(const Choice& c, bool pair);
  bool has_next(int block) const;  // a layer whose next one is of its kind
  bool has_pairs() const;          // of each kind of layers that is there more than once
  const std::map<int, BlockCost>& of_key(const Key& key);
  void prepare(const std::vector<Choice>& choices, bool pairs);
  Block block_of(const Key& key, int block) const;
  BlockCost cost(const Block& block) const;
  BlockCost plan(const Options& o, int block, bool zero_bubble, int count = 1) const;
  BlockCost second_layer(const Options& o, int block, bool zero_bubble) const;
  bool is_end(int block) const { return (block == 0 || block + 1 == blocks()) && base_.model.mtp.num_layers == 0; }

  const Options& base_;
  std::shared_ptr<const DeviceFacts> facts_;
  const sim::FactsClock clock_;
  std::vector<int> kinds_;  // by block
  std::map<Key, std::map<int, BlockCost>> known_;
  std::map<Block, BlockCost> costs_;
};

}  // namespace megalith::search
