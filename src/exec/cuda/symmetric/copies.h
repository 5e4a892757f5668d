// Collectives between GPUs of one host by copy engines, which take no multiprocessor from concurrent work. They write
// to the members' memory. The members' streams meet before and after a copy by words that the driver's memory
// operations write and wait for. The host counts these meetings, so the calls cannot be captured into a graph.
#pragma once
#include "exec/cuda/comms.h"
#include "exec/cuda/symmetric/collectives.h"

namespace megalith::cuda {

// Smaller parts are moved faster by kernels: a copy has a meeting before and after it.
constexpr i64 kLeastCopied = i64{1} << 20;  // bytes

// Where each member receives the others' terms of its part of a sum, in the members' order. `mine` has room for the
// first term, and gets the sum. `others` has room for the rest. Neither may overlap what the members send.
struct SumRooms {
  SymmetricBuffer mine, others;
};

class CopiedCollectives {
 public:
  // `group` stays where it is. All members make the same calls in the same order.
  explicit CopiedCollectives(const SymmetricGroup& group) : group_(group) {}

  // As symmetric_gather() and symmetric_reduce_scatter(); `all` of a sum is this GPU's. The sum needs has_words().
  void gather(const std::byte* mine, const SymmetricBuffer& all, i64 part, cudaStream_t stream);
  void reduce_scatter(const std::byte* all, const SumRooms& to, i64 part, DType dtype, cudaStream_t stream);
  // The same part by part, with work beside them. The work on a part waits for this part only. A part is sent as
  // soon as it is made.
  void gather(const std::byte* mine, const SymmetricBuffer& all, i64 part, const Beside& work);
  void reduce_scatter(const std::byte* all, const SumRooms& to, i64 part, DType dtype, const Beside& work);

 private:
  void meet(cudaStream_t stream);
  void send(const std::byte* from, std::byte* to, int member, i64 bytes, cudaStream_t stream);
  void wait_for(int member, cudaStream_t stream);
  std::byte* room(const SumRooms& to, int member, int from, i64 bytes) const;
  void add(const std::byte* all, const SumRooms& to, i64 part, DType dtype, cudaStream_t stream);

  const SymmetricGroup& group_;
  u32 meetings_ = 0, transfers_ = 0;  // so far
};

// Whether the driver writes words of these members' memory in stream order. Writes `streams` of `words`.
bool streams_can_meet(const SymmetricGroup& group, cudaStream_t stream);
// Ends what streams of this GPU wait for.
void end_stream_meetings(MeetingWords* words, int groups, cudaStream_t stream);

}  // namespace megalith::cuda
