// A model's state from a set of tensors: each rank reads the boxes that it holds, straight into their place.
#pragma once
#include "ckpt/tensors/tensor_reader.h"
#include "step/model_state.h"

namespace megalith {

// Its memory is bounded: two chunks of a file for each of a few threads. It needs 16 MiB more if the state is not in
// host memory, or if weights have a compute-precision copy. Without `with_optimizer`: weights only. Error, before
// anything is read, if names, shapes or types differ. f32 state may be stored as any float, also if it is kept in bf16.
// The caller calls ModelState::finish(), because it knows whether all ranks have succeeded. `threads`: 0: the number
// that a disk needs.
void read_state(const TensorReader& tensors, bool with_optimizer, ModelState& model, int threads = 0);

// The most memory that it needs besides the model's own. `largest`: bytes of the largest tensor as f32. `on_host`:
// the host can write to the state. `has_copies`: weights have a copy in compute precision.
i64 state_reading_bytes(i64 largest, bool on_host, bool has_copies);

}  // namespace megalith
