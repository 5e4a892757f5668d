// Copies boxes (mesh/pieces.h) between memories of one GPU, many in one launch. Relayouts use it to pack and unpack
// messages. Words have up to 16 bytes, as a box's rows, offsets and strides allow.
#pragma once
#include <vector>

#include "exec/cuda/device.h"
#include "exec/cuda_needs/loop_table.h"

namespace megalith {
struct Box;
}

namespace megalith::cuda {

enum class Memory : u8 { in, out, workspace };

// An offset in one of the memories, in bytes.
struct At {
  Memory memory;
  i64 bytes = 0;
};

// Sizes in words of `width` bytes, the last dim first.
struct BoxCopy {
  static constexpr int kMostDims = 5;
  u8 from_memory = 0, to_memory = 0, width = 1, dims = 1;
  u32 first_block = 0, words = 0;
  i64 from = 0, to = 0;  // bytes
  u32 sizes[kMostDims] = {};
  Divisor divisors[kMostDims] = {};
  i64 from_strides[kMostDims] = {}, to_strides[kMostDims] = {};  // bytes
};

// One launch, passed as a kernel's parameter.
struct BoxCopies {
  static constexpr int kMost = 24, kThreads = 256, kEach = 4;  // boxes; threads of a block; words of a thread
  int count = 0;
  u32 blocks = 0;
  BoxCopy box[kMost];
};
void launch(const BoxCopies& c, const std::byte* in, std::byte* out, std::byte* workspace, cudaStream_t stream);

// All launches for a list of boxes.
class BoxCopyList {
 public:
  // Boxes with elements of `element` bytes. Their offsets count from `from` and `to`. Offsets and strides are multiples
  // of an element. Error if a box has more dims than the kernel supports.
  void add(const std::vector<Box>& boxes, i64 element, At from, At to);
  void add(const Box& box, i64 element, At from, At to);
  bool empty() const { return launches_.empty(); }
  void run(const std::byte* in, std::byte* out, std::byte* workspace, cudaStream_t stream) const;

 private:
  std::vector<BoxCopies> launches_;
};

}  // namespace megalith::cuda
