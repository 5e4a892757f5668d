// Relayouts between GPUs. Gathers and reductions need their parts one after another, each in its rank's memory
// layout. Only if the whole has another layout are they copied, box by box. All-to-all sends the intersection of two
// ranks (mesh/pieces.h), packed if it is not contiguous. Sums add in an order that is the same in every run. In
// symmetric memory that is the ranks' order, in f32. Elsewhere it is NCCL's, in the value's own precision.
#include <utility>

#include "exec/cuda/comms.h"
#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/box_copy.h"
#include "exec/cuda/streams.h"
#include "exec/cuda_needs/relayout_boxes.h"
#include "exec/cuda_needs/supported.h"
#include "mesh/pieces.h"

namespace megalith::cuda {

namespace {

// One rank's part in a relayout.
class Mover {
 public:
  Mover(const Relayout& op, const KernelContext& context)
      : op_(op),
        dtype_(context.ins[0].dtype),
        size_(size_of(dtype_)),
        boxes_(op, context),
        line_(context.device.stream()) {
    if (const auto group = communicator_group_of(op, context.mesh, context.coord)) {
      what_ = describe(op, context.mesh, *group, context.tag);
      if (context.comms) comm_ = &context.comms->at(*group);
    }
    route();
  }

  i64 workspace() const { return boxes_.workspace; }

  void run(const Args& a) const {
    if (boxes_.in_bytes == 0 && boxes_.out_bytes == 0) return;
    if (n() > 1 && !is_local(op_.transfer))
      check(comm_ != nullptr, "a relayout between ranks on a single one: {}", what_);
    if (clears_) check_cuda(cudaMemsetAsync(a.outs[0], 0, size_t(boxes_.out_bytes), a.stream), "[relayout] zeros");
    pack(a);
    transfer(a);
    after_.run(a.ins[0], a.outs[0], a.workspace, a.stream);
  }

 private:
  int n() const { return int(boxes_.members.size()); }

  void route() {
    switch (op_.transfer) {
      case Transfer::none:
        return;
      case Transfer::slice:
        return before_.add(boxes_.outgoing[boxes_.me], size_, {Memory::in}, {Memory::out});
      case Transfer::pad:
        clears_ = true;
        return before_.add(boxes_.outgoing[boxes_.me], size_, {Memory::in}, {Memory::out});
      case Transfer::keep_one:
        clears_ = boxes_.me != 0;
        return;
      case Transfer::all_reduce:
      case Transfer::all_reduce_max:
        return check_dtype(op_.name, dtype_, {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32});
      case Transfer::reduce_scatter:
        check_dtype(op_.name, dtype_, {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32});
        return route_scatter();
      case Transfer::all_gather:
        return route_gather();
      case Transfer::all_to_all:
      case Transfer::rotate:
        return route_messages();
    }
  }

  void route_gather() {
    if (boxes_.direct) return;
    for (int k = 0; k < n(); ++k)
      after_.add(boxes_.incoming[k], size_, {Memory::workspace, k * boxes_.in_bytes}, {Memory::out});
  }

  void route_scatter() {
    check(!op_.in_place, "a reduce_scatter in place: CUDA kernels need room for the result");
    if (boxes_.direct) return;
    for (int k = 0; k < n(); ++k)
      before_.add(boxes_.outgoing[k], size_, {Memory::in}, {Memory::workspace, k * boxes_.out_bytes});
    if (op_.lane && !before_.empty()) packed_ = make_event();
  }

  struct Route {  // of a message
    int member;
    At place;
    i64 bytes;
  };

  // A rotated value is contiguous in both memories. In an all-to-all only some messages may need packing. Workspace
  // is planned for all of them, because it must suffice on each rank.
  void route_messages() {
    i64 taken = 0;  // of the workspace
    const auto packed = [&](i64 bytes) {
      return At{Memory::workspace, std::exchange(taken, taken + packed_bytes(bytes))};
    };
    for (int k = 0; k < n(); ++k) {
      if (k == boxes_.me) continue;
      if (const i64 bytes = elements(boxes_.outgoing[k]) * size_) {
        const bool lies = is_message_from(boxes_.outgoing[k]);
        const At at = lies ? At{Memory::in, boxes_.outgoing[k][0].from * size_} : packed(bytes);
        if (!lies) before_.add(packed_to(boxes_.outgoing[k]), size_, {Memory::in}, at);
        sends_.push_back({k, at, bytes});
      }
      if (const i64 bytes = elements(boxes_.incoming[k]) * size_) {
        const bool lies = is_message_to(boxes_.incoming[k]);
        const At at = lies ? At{Memory::out, boxes_.incoming[k][0].to * size_} : packed(bytes);
        if (!lies) after_.add(packed_from(boxes_.incoming[k]), size_, at, {Memory::out});
        receives_.push_back({k, at, bytes});
      }
    }
    after_.add(boxes_.incoming[boxes_.me], size_, {Memory::in}, {Memory::out});
  }

  // The parts of a sum on a lane are packed in line. On the lane the copies would wait for multiprocessors, because a
  // product that overlaps the sum takes them first.
  void pack(const Args& a) const {
    if (!packed_) return before_.run(a.ins[0], a.outs[0], a.workspace, a.stream);
    before_.run(a.ins[0], a.outs[0], a.workspace, line_);
    check_cuda(cudaEventRecord(packed_.get(), line_), "[relayout] packing");
    check_cuda(cudaStreamWaitEvent(a.stream, packed_.get()), "[relayout] packing");
  }

  void copy_all(const std::byte* from, std::byte* to, i64 bytes, cudaStream_t stream) const {
    if (from != to)
      check_cuda(cudaMemcpyAsync(to, from, size_t(bytes), cudaMemcpyDeviceToDevice, stream), "[relayout]");
  }

  void transfer(const Args& a) const {
    const std::byte* from = boxes_.direct ? a.ins[0] : a.workspace;
    std::byte* to = boxes_.direct ? a.outs[0] : a.workspace;
    const bool alone = n() == 1;
    switch (op_.transfer) {
      case Transfer::none:
        return copy_all(a.ins[0], a.outs[0], boxes_.in_bytes, a.stream);
      case Transfer::keep_one:
        return clears_ ? void() : copy_all(a.ins[0], a.outs[0], boxes_.in_bytes, a.stream);
      case Transfer::all_reduce:
      case Transfer::all_reduce_max:
        if (alone) return copy_all(a.ins[0], a.outs[0], boxes_.in_bytes, a.stream);
        return comm_->all_reduce(a.ins[0], a.outs[0], boxes_.in_bytes / size_, dtype_,
                                 op_.transfer == Transfer::all_reduce_max, a.stream);
      case Transfer::all_gather:
        return alone ? copy_all(a.ins[0], to, boxes_.in_bytes, a.stream)
                     : comm_->all_gather(a.ins[0], to, boxes_.in_bytes / size_, dtype_, a.stream);
      case Transfer::reduce_scatter:
        return alone ? copy_all(from, a.outs[0], boxes_.out_bytes, a.stream)
                     : comm_->reduce_scatter(from, a.outs[0], room_in(a.workspace, boxes_), boxes_.out_bytes / size_,
                                             dtype_, a.stream);
      case Transfer::all_to_all:
      case Transfer::rotate:
        return alone ? void() : comm_->exchange(placed(sends_, a), placed(receives_, a), a.stream);
      case Transfer::slice:
      case Transfer::pad:
        return;
    }
  }

  static std::vector<Message> placed(const std::vector<Route>& routes, const Args& a) {
    std::byte* const memories[] = {a.ins[0], a.outs[0], a.workspace};
    std::vector<Message> out;
    for (const Route& r : routes) out.push_back({r.member, memories[int(r.place.memory)] + r.place.bytes, r.bytes});
    return out;
  }

  Relayout op_;
  DType dtype_;
  i64 size_;
  RelayoutBoxes boxes_;
  std::string what_;
  Comm* comm_ = nullptr;
  bool clears_ = false;                  // the result is zero except for what is copied to it
  BoxCopyList before_, after_;           // before the transfer, and after it
  std::vector<Route> sends_, receives_;  // of all-to-all
  cudaStream_t line_;                    // the compute stream
  Event packed_;                         // its event for packed data, for a sum on a lane
};

}  // namespace

Kernel prepare(const Relayout& op, const KernelContext& context) {
  auto mover = std::make_shared<const Mover>(op, context);
  return {mover->workspace(), [mover](const Args& a) { mover->run(a); }};
}

// The executor ends the relayout that was begun.
Kernel prepare(const Wait&, const KernelContext&) { return {}; }

Kernel prepare(const JoinBucket&, const KernelContext&) {
  return {0, [](const Args&) {}};
}

Kernel prepare(const StageTerm&, const KernelContext&) {
  return {0, [](const Args&) {}};
}

}  // namespace megalith::cuda
