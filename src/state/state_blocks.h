// A rank's share of a model's state as blocks to write: in place, or as a copy that does not change while training
// continues.
#pragma once
#include <mutex>
#include <vector>

#include "ckpt/native/checkpoint.h"
#include "step/model_state.h"

namespace megalith {

struct StateShare {
  bool with_optimizer = true;
  bool shared = true;  // what several ranks hold they share evenly; else the first of them saves it
  bool whole = false;  // all that this rank holds, whoever else has it
};

// Bytes of a rank's share, by the plan: the maximum over ranks.
i64 state_share_bytes(const PlannedStep& step, const StateShare& share);

class StateBlocks {
 public:
  // `copied`: in the interpreter's host memory, copied during work that is enqueued later.
  StateBlocks(const ModelState& model, const StateShare& share, bool copied);
  StateBlocks(const StateBlocks&) = delete;
  StateBlocks& operator=(const StateBlocks&) = delete;

  // They point into the model or the copy. Good once wait() has returned, which fails, as does reading them, where
  // weights are not finite.
  const std::vector<SaveTensor>& tensors() const { return tensors_; }
  void wait() const;
  i64 bytes() const { return bytes_; }  // of the model or the copy
  i64 written() const;                  // of the blocks

 private:
  struct Source {
    StatePiece piece;
    i64 at;  // byte of the copy
  };
  const ModelState& model_;
  std::vector<SaveTensor> tensors_;
  std::vector<bool> is_weight_;
  std::vector<Source> sources_;
  i64 bytes_ = 0;
  bool copied_;
  std::mutex reading_;  // of a device, which has one queue
};

}  // namespace megalith
