// A model's state from a set of tensors: each rank reads the boxes that it holds, straight into their place.
#pragma once
#include "ckpt/tensors/tensor_reader.h"
#include "step/model_state.h"

namespace megalith {

// Memory beside the model's own is bounded: two chunks of a file for each of a few threads. A piece of 16 MiB is added
// where the state is elsewhere, or weights have a copy in compute precision. Without `with_optimizer`: weights only.
// Error, before anything is read, if names, shapes or types are others: f32 state may be any float, also where it is
// kept in bf16. ModelState::finish() is left to the caller, who knows whether all ranks have succeeded. `threads`: 0:
// as many as a disk wants.
void read_state(const TensorReader& tensors, bool with_optimizer, ModelState& model, int threads = 0);

// The most memory that it takes beside the model's own. `largest`: bytes of the largest tensor as f32. `on_host`: the
// state lies where the host can write it. `has_copies`: weights have one in compute precision.
i64 state_reading_bytes(i64 largest, bool on_host, bool has_copies);

}  // namespace megalith
