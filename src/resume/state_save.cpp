#include "resume/state_save.h"

#include <algorithm>

#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/tensors/durable_file.h"
#include "ckpt/torch/megatron_save.h"

namespace megalith {

StateShare largest_share(const TrainConfig& t) {
  return {.with_optimizer = !t.no_save_optim,
          .shared = t.ckpt_fully_parallel_save,
          .whole = t.non_persistent_ckpt_type == NonPersistentType::local};
}

// One more file is useful only for many bytes.
int writers_of(const TrainConfig& t, i64 bytes) {
  constexpr i64 kLarge = i64{64} << 20;
  return int(std::clamp<i64>(bytes / kLarge, 1, t.dist_ckpt_workers));
}

i64 saving_bytes(const PlannedStep& step, const TrainConfig& t, bool read) {
  if (t.save.empty()) return 0;
  i64 largest = 0;  // bytes of this rank's largest tensor
  for (const Parameter& p : step.parameters)
    largest = std::max(largest, local_type(step.plan.mesh, p.type).elements() * size_of(DType::f32));
  const bool joined = std::ranges::any_of(step.plan.leaves, [](const Leaf& l) {  // or widened
    return (l.role == Role::main_parameter && l.type.dtype == DType::u16) ||
           (l.role == Role::optimizer && l.type.dtype == DType::bf16);
  });
  const i64 share = state_share_bytes(step, largest_share(t)), writers = writers_of(t, share);
  const i64 pieces = t.ckpt_format == SaveFormat::torch_dist ? kChunkBytes + kMegatronPieceBytes
                     : read || joined                        ? std::min(kChunkBytes, largest)
                                                             : 0;
  return std::min(share, writers * DurableFile::kMemory) + std::min(share, writers * pieces) +
         (read && joined ? std::min(largest, 4 * ModelState::kJoinedAtOnce) : 0);
}

}  // namespace megalith
