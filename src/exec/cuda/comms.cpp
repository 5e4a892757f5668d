#include "exec/cuda/comms.h"

namespace megalith::cuda {

// Only this rank's own part needs no transfer.
void Comm::all_gather(const std::byte* mine, std::byte* all, i64 count, DType dtype, const Beside& work) {
  work.lane.fork_from(work.stream);
  all_gather(mine, all, count, dtype, work.lane.stream());
  work.make(me());
  work.lane.join(work.stream);
  for (int k = 0; k < members(); ++k)
    if (k != me()) work.make(k);
}

void Comm::reduce_scatter(const std::byte* all, std::byte* mine, std::byte* room, i64 count, DType dtype,
                          const Beside& work) {
  for (int k = 0; k < members(); ++k) work.make(k);
  reduce_scatter(all, mine, room, count, dtype, work.stream);
}

}  // namespace megalith::cuda
