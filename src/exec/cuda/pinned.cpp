#include "exec/cuda/pinned.h"

#include <cstring>

#include "base/threads.h"
#include "exec/cuda/device.h"

namespace megalith::cuda {

void FreePinned::operator()(std::byte* p) const { cudaFreeHost(p); }

Pinned zeroed_pinned(i64 bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  const cudaError_t status = cudaHostAlloc(&memory, size_t(bytes), cudaHostAllocDefault);
  cudaGetLastError();  // clears the error, which the next launch's check would find
  check(status == cudaSuccess,
        "cannot pin {} bytes of the host's memory ({}): free some, or give a lower --optimizer-offload-fraction or "
        "--activation-offload-fraction",
        bytes, cudaGetErrorString(status));
  Pinned pinned(static_cast<std::byte*>(memory));
  parallel_ranges(bytes, i64{1} << 24,
                  [&](i64 begin, i64 end) { std::memset(pinned.get() + begin, 0, size_t(end - begin)); });
  return pinned;
}

}  // namespace megalith::cuda
