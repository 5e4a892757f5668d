#include "exec/cuda/symmetric/copies.h"

#include <cudaTypedefs.h>

namespace megalith::cuda {

namespace {

// The driver's function, found at run time: nothing links with the driver. Null: the driver has none.
PFN_cuStreamBatchMemOp_v11070 memory_operations() {
  static const auto found = [] {
    void* f = nullptr;
    cudaDriverEntryPointQueryResult result{};
    const bool has =
        cudaGetDriverEntryPointByVersion("cuStreamBatchMemOp", &f, 12000, cudaEnableDefault, &result) == cudaSuccess &&
        result == cudaDriverEntryPointSuccess;
    return reinterpret_cast<PFN_cuStreamBatchMemOp_v11070>(has ? f : nullptr);
  }();
  return found;
}

// Words that a stream writes and waits for, in this order.
class StreamWords {
 public:
  void write(u32* word, u32 value) {
    next().writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                         .address = reinterpret_cast<CUdeviceptr>(word),
                         .value = value,
                         .flags = CU_STREAM_WRITE_VALUE_DEFAULT,  // after all writes of the stream so far
                         .alias = 0};
  }
  // Until the word is `value` or later; values wrap.
  void wait(u32* word, u32 value) {
    next().waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                        .address = reinterpret_cast<CUdeviceptr>(word),
                        .value = value,
                        .flags = CU_STREAM_WAIT_VALUE_GEQ,
                        .alias = 0};
  }
  bool enqueue(cudaStream_t stream) {
    const auto run = memory_operations();
    return run && run(stream, count_, ops_, 0) == CUDA_SUCCESS;
  }

 private:
  CUstreamBatchMemOpParams& next() { return ops_[count_++]; }
  CUstreamBatchMemOpParams ops_[2 * kMostMembers] = {};
  unsigned count_ = 0;
};

void enqueue(StreamWords words, cudaStream_t stream) {
  check(words.enqueue(stream), "[relayout] the driver refuses to let streams of GPUs meet");
}

StreamWords meeting(const SymmetricGroup& g, u32 number) {
  StreamWords words;
  for (int k = 0; k < g.members; ++k)
    if (k != g.me) words.write(&g.words[k]->streams[g.me], number);
  for (int k = 0; k < g.members; ++k)
    if (k != g.me) words.wait(&g.words[g.me]->streams[k], number);
  return words;
}

void copy(std::byte* to, const std::byte* from, i64 bytes, cudaStream_t stream) {
  if (to != from)
    check_cuda(cudaMemcpyAsync(to, from, size_t(bytes), cudaMemcpyDefault, stream), "[relayout] copying to a peer");
}

// The member i places after this one. Each member begins with the next, so that none receives from all at once.
int neighbour(const SymmetricGroup& g, int i) { return (g.me + i) % g.members; }

}  // namespace

// All work before it on the members' streams is done.
void CopiedCollectives::meet(cudaStream_t stream) { enqueue(meeting(group_, ++meetings_), stream); }

void CopiedCollectives::send(const std::byte* from, std::byte* to, int member, i64 bytes, cudaStream_t stream) {
  copy(to, from, bytes, stream);
  StreamWords words;
  words.write(&group_.words[member]->arrived[group_.me], transfers_);
  enqueue(words, stream);
}

void CopiedCollectives::wait_for(int member, cudaStream_t stream) {
  StreamWords words;
  words.wait(&group_.words[group_.me]->arrived[member], transfers_);
  enqueue(words, stream);
}

void CopiedCollectives::gather(const std::byte* mine, const SymmetricBuffer& all, i64 part, cudaStream_t stream) {
  meet(stream);
  for (int i = 1; i <= group_.members; ++i) copy(all.on[neighbour(group_, i)] + group_.me * part, mine, part, stream);
  meet(stream);
}

void CopiedCollectives::gather(const std::byte* mine, const SymmetricBuffer& all, i64 part, const Beside& work) {
  const int me = group_.me, members = group_.members;
  ++transfers_;
  work.lane.fork_from(work.stream);
  meet(work.lane.stream());
  for (int i = 1; i < members; ++i)
    send(mine, all.on[neighbour(group_, i)] + me * part, neighbour(group_, i), part, work.lane.stream());
  copy(all.on[me] + me * part, mine, part, work.lane.stream());
  work.work_on(me);
  for (int i = 1; i < members; ++i) {  // in the order of arrival
    const int k = neighbour(group_, members - i);
    work.wait([&] { wait_for(k, work.stream); });
    work.work_on(k);
  }
  work.lane.join(work.stream);
}

// Where `member` receives the term of `from`.
std::byte* CopiedCollectives::room(const SumRooms& to, int member, int from, i64 bytes) const {
  const int number = from < member ? from : from - 1;
  return number == 0 ? to.mine.on[member] : to.others.on[member] + (number - 1) * bytes;
}

void CopiedCollectives::add(const std::byte* all, const SumRooms& to, i64 part, DType dtype, cudaStream_t stream) {
  const i64 bytes = part * size_of(dtype);
  const std::byte* terms[kMostMembers] = {};
  for (int k = 0; k < group_.members; ++k) terms[k] = k == group_.me ? all + k * bytes : room(to, group_.me, k, bytes);
  symmetric_add(group_, terms, to.mine.on[group_.me], part, dtype, stream);
}

void CopiedCollectives::reduce_scatter(const std::byte* all, const SumRooms& to, i64 part, DType dtype,
                                       cudaStream_t stream) {
  const i64 bytes = part * size_of(dtype);
  meet(stream);
  for (int i = 1; i < group_.members; ++i) {
    const int k = neighbour(group_, i);
    copy(room(to, k, group_.me, bytes), all + k * bytes, bytes, stream);
  }
  meet(stream);
  add(all, to, part, dtype, stream);
}

void CopiedCollectives::reduce_scatter(const std::byte* all, const SumRooms& to, i64 part, DType dtype,
                                       const Beside& work) {
  const i64 bytes = part * size_of(dtype);
  ++transfers_;
  work.lane.fork_from(work.stream);
  meet(work.lane.stream());
  for (int i = 1; i < group_.members; ++i) {
    const int k = neighbour(group_, i);
    work.work_on(k);
    work.lane.fork_from(work.stream);
    send(all + k * bytes, room(to, k, group_.me, bytes), k, bytes, work.lane.stream());
  }
  work.work_on(group_.me);
  work.wait([&] {
    for (int i = 1; i < group_.members; ++i) wait_for(neighbour(group_, i), work.stream);
  });
  add(all, to, part, dtype, work.stream);
  work.lane.join(work.stream);
}

bool streams_can_meet(const SymmetricGroup& group, cudaStream_t stream) {
  return group.members < 2 || (meeting(group, 0).enqueue(stream) && cudaStreamSynchronize(stream) == cudaSuccess);
}

void end_stream_meetings(MeetingWords* words, int groups, cudaStream_t stream) {
  for (int g = 0; g < groups; ++g) {
    cudaMemsetAsync(words[g].streams, 0x7f, sizeof words[g].streams, stream);
    cudaMemsetAsync(words[g].arrived, 0x7f, sizeof words[g].arrived, stream);
  }
}

}  // namespace megalith::cuda
