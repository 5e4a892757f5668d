// Collectives with work beside them, where the implementation moves no single parts.
#include "exec/cuda/comms.h"

namespace megalith::cuda {

// Only this rank's own part needs no transfer.
void Comm::all_gather(const std::byte* mine, std::byte* all, i64 count, DType dtype, const Beside& work) {
  work.lane.fork_from(work.stream);
  all_gather(mine, all, count, dtype, work.lane.stream());
  work.work_on(me());
  work.wait([&] { work.lane.join(work.stream); });
  for (int k = 0; k < members(); ++k)
    if (k != me()) work.work_on(k);
}

void Comm::reduce_scatter(const std::byte* all, std::byte* mine, std::byte* room, i64 count, DType dtype,
                          const Beside& work) {
  for (int k = 0; k < members(); ++k) work.work_on(k);
  work.lane.fork_from(work.stream);
  reduce_scatter(all, mine, room, count, dtype, work.lane.stream());
  work.wait([&] { work.lane.join(work.stream); });
}

}  // namespace megalith::cuda
