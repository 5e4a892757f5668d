// Collectives between GPUs of one host by kernels that access the members' memory over NVLink. All members launch the
// same kernel; a block meets the blocks of its number on the other GPUs before and after it moves data.
#pragma once
#include <cuda_runtime_api.h>

#include "exec/cuda_needs/symmetric_needs.h"

namespace megalith::cuda {

// Blocks of a transfer at most.
constexpr int kMostSymmetricBlocks = 128;

// Up to this many elements each member reads all of a reduction: less waiting, more bytes.
constexpr i64 kSmallReduction = 16384;

// One group's meeting place: a word for each block and member on each GPU, in which the others write.
struct MeetingWords {
  u32 met[kMostSymmetricBlocks][kMostMembers];
  u32 meetings[kMostSymmetricBlocks];  // of this GPU's blocks so far
  u32 streams[kMostMembers];           // meetings of the others' streams (copies.h)
  u32 arrived[kMostMembers];           // parts that the others sent
};

// A group as its kernels see it.
struct SymmetricGroup {
  int members = 0, me = 0;
  MeetingWords* words[kMostMembers] = {};  // by member
  const volatile u32* aborted = nullptr;   // in pinned memory; not 0: blocks stop waiting
  int blocks = 0;                          // at most
};

// The same buffer on each member.
struct SymmetricBuffer {
  std::byte* on[kMostMembers] = {};
};

// Whether there are kernels that move these two arrays, and `bytes` of them, by words of 16 bytes. All members get the
// same answer.
bool has_words(const SymmetricGroup& g, const void* a, const void* b, i64 bytes, DType dtype);
// Loads the code of all kernels. Loading may wait for the GPU, and a first step may not (executor.h).
void load_symmetric_kernels();
// Copies `mine` to part `me` of `all` on all members. `part`: bytes.
void symmetric_gather(const SymmetricGroup& g, const std::byte* mine, const SymmetricBuffer& all, i64 part,
                      cudaStream_t stream);
// `mine` gets the sum of part `me` of `all` on all members: in the members' order, rounded once. `part`: elements.
void symmetric_reduce_scatter(const SymmetricGroup& g, const SymmetricBuffer& all, std::byte* mine, i64 part,
                              DType dtype, cudaStream_t stream);
// `mine` gets the sum of these arrays of this GPU, one of each member, as symmetric_reduce_scatter() does it. `part`:
// elements of each. For arrays with has_words().
void symmetric_add(const SymmetricGroup& g, const std::byte* const (&terms)[kMostMembers], std::byte* mine, i64 part,
                   DType dtype, cudaStream_t stream);
// `to` on all members gets the sum, or the maximum, of `from` on all members. `to` may be `from`. NaN is the largest.
void symmetric_all_reduce(const SymmetricGroup& g, const SymmetricBuffer& from, const SymmetricBuffer& to, i64 count,
                          DType dtype, bool largest, cudaStream_t stream);

// The maximum of f32 elements, kSmallReduction at most, to `to`. With *unless not 0, on all members, it is a member's
// own.
void symmetric_max_unless(const SymmetricGroup& g, const float* unless, const SymmetricBuffer& from, std::byte* to,
                          i64 count, cudaStream_t stream);

}  // namespace megalith::cuda
