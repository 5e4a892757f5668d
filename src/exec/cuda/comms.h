// Moves data between GPUs, one for each rank. Each group has a communicator. The implementation is NCCL (nccl/). A
// build without NCCL has an error instead (no_nccl/).
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "exec/cuda/communicator_groups.h"
#include "exec/cuda/device.h"
#include "exec/cuda/streams.h"

namespace megalith::cuda {

struct Message {
  int member;  // index in the group
  std::byte* data;
  i64 bytes;
};

// Work beside a collective, which is on `lane`. work_on(k) enqueues on `stream` the work on member k's part. It reads
// the part that a gather brings, or writes the part that a sum takes. It is called once for each member, this one
// included. waits(true) and waits(false), if they exist, are called before and after `stream` waits for others.
struct Beside {
  Lane& lane;
  cudaStream_t stream;
  std::function<void(int member)> work_on;
  std::function<void(bool)> waits = {};

  // f() enqueues a wait of `stream`.
  template <class F>
  void wait(F&& f) const {
    if (waits) waits(true);
    f();
    if (waits) waits(false);
  }
};

// All members make the same calls in the same order. A call enqueues on the stream and returns. It can be captured into
// a graph, unless the communicator is of a lane.
class Comm {
 public:
  virtual ~Comm() = default;
  virtual int members() const = 0;
  virtual int me() const = 0;  // this rank's index in the group
  // Gathers `count` elements of each member, in the members' order.
  virtual void all_gather(const std::byte* mine, std::byte* all, i64 count, DType dtype, cudaStream_t stream) = 0;
  // Sums the members' arrays, `count` elements for each member, and gives each member its part of the sum. `room`: for
  // the parts of all members but two. Null: there is none.
  virtual void reduce_scatter(const std::byte* all, std::byte* mine, std::byte* room, i64 count, DType dtype,
                              cudaStream_t stream) = 0;
  // The sum, or the maximum, of the members' elements; `to` may be `from`. All members get the same bits.
  virtual void all_reduce(const std::byte* from, std::byte* to, i64 count, DType dtype, bool largest,
                          cudaStream_t stream) = 0;
  // The maximum of f32 elements. If *unless, which all members have, is not 0, then `to` may be a member's own instead.
  virtual void all_reduce_max_unless(const float* /*unless*/, const std::byte* from, std::byte* to, i64 count,
                                     cudaStream_t stream) {
    all_reduce(from, to, count, DType::f32, true, stream);
  }
  // Whether it then is, and no member waits for another.
  virtual bool decides_on_gpu() const { return false; }
  // The same as all_gather and reduce_scatter, for a group's communicator of a lane, with work beside them. Not for
  // graphs. Afterwards `stream` waits for the whole.
  virtual void all_gather(const std::byte* mine, std::byte* all, i64 count, DType dtype, const Beside& work);
  virtual void reduce_scatter(const std::byte* all, std::byte* mine, std::byte* room, i64 count, DType dtype,
                              const Beside& work);
  // Each pair of members exchanges at most one message each way. Sender and receiver give the same size.
  virtual void exchange(std::span<const Message> sends, std::span<const Message> receives, cudaStream_t stream) = 0;
};

class Comms {
 public:
  virtual ~Comms() = default;
  // Creates the missing communicators of all ranks, with all memory that they will ever need. All ranks must call it at
  // the same time. If none is missing it costs one exchange of texts.
  virtual void connect(const std::vector<CommunicatorGroup>& mine) = 0;
  virtual Comm& at(const CommunicatorGroup& group) = 0;  // Error if it was not connected
  // Tells the memory in which a plan's transfers read and write, before it has contents: they may be overwritten.
  // `layout`: the offsets of these transfers' buffers. All ranks call it at the same time.
  virtual void share(std::byte* /*arena*/, i64 /*bytes*/, const std::string& /*layout*/) {}
  // Before that memory is freed.
  virtual void unshare(const std::byte* /*arena*/) {}
  // Device memory that sharing an arena will take, in the groups that are connected.
  virtual i64 sharing_bytes(i64 /*arena_bytes*/) const { return 0; }
  // A background error; empty if there is none. Any thread may call it.
  virtual std::string error() = 0;
  // Aborts running operations on this rank only. Any thread may call it; no other call may follow.
  virtual void abort() = 0;
};

// Error if the build, or this machine, has no NCCL.
std::unique_ptr<Comms> make_comms(Ranks& ranks, Device& device);

}  // namespace megalith::cuda
