// Copies of boxes (mesh/pieces.h) between the memories of one GPU, many in one launch: how relayouts pack messages and
// put them in place. Bytes are moved in the widest words, up to 16, that a box's rows, places and strides allow.
#pragma once
#include <vector>

#include "exec/cuda/device.h"
#include "exec/cuda_needs/loop_table.h"

namespace megalith {
struct Box;
}

namespace megalith::cuda {

enum class Memory : u8 { in, out, workspace };

// A place in one of them, in bytes.
struct At {
  Memory memory;
  i64 bytes = 0;
};

// In words of `width` bytes; the last dim first.
struct BoxCopy {
  static constexpr int kMostDims = 5;
  u8 from_memory = 0, to_memory = 0, width = 1, dims = 1;
  u32 first_block = 0, words = 0;
  i64 from = 0, to = 0;  // bytes
  u32 sizes[kMostDims] = {};
  Divisor divisors[kMostDims] = {};
  i64 from_strides[kMostDims] = {}, to_strides[kMostDims] = {};  // bytes
};

// One launch. It goes to the GPU as a kernel's parameter.
struct BoxCopies {
  static constexpr int kMost = 24, kThreads = 256, kEach = 4;  // boxes; threads of a block, words of a thread
  int count = 0;
  u32 blocks = 0;
  BoxCopy box[kMost];
};
void launch(const BoxCopies& c, const std::byte* in, std::byte* out, std::byte* workspace, cudaStream_t stream);

// All the launches of a list of boxes.
class BoxCopyList {
 public:
  // Boxes of elements of `element` bytes, their places counted from the two given. Places and strides are multiples of
  // an element. Error if a box has more dims than the kernel takes.
  void add(const std::vector<Box>& boxes, i64 element, At from, At to);
  void add(const Box& box, i64 element, At from, At to);
  bool empty() const { return launches_.empty(); }
  void run(const std::byte* in, std::byte* out, std::byte* workspace, cudaStream_t stream) const;

 private:
  std::vector<BoxCopies> launches_;
};

}  // namespace megalith::cuda
