// Relayouts between GPUs. Gathers and reductions need their parts one behind another, each as it lies in its rank's
// memory; only where the whole is laid out in another way are they copied, box by box. All-to-all sends what two ranks
// have in common (mesh/pieces.h), packed where it is not one piece. Sums add in NCCL's order, which is the same in
// every run, in the value's own precision.
#include <utility>

#include "exec/cuda/comms.h"
#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/box_copy.h"
#include "exec/cuda/kernels/supported.h"
#include "mesh/pieces.h"

namespace megalith::cuda {

namespace {

i64 aligned(i64 bytes) { return (bytes + 15) / 16 * 16; }  // of a message: so that it is packed in whole words

// One rank's part in a relayout.
class Mover {
 public:
  Mover(const Relayout& op, const Site& site)
      : op_(op),
        dtype_(site.ins[0].dtype),
        size_(size_of(dtype_)),
        in_bytes_(count(site.in_shape(0)) * size_),
        out_bytes_(count(site.out_shape(0)) * size_) {
    const Mesh& mesh = site.mesh;
    members_ = op.group(mesh, site.coord);
    const int self = mesh.rank(site.coord);
    me_ = int(std::find(members_.begin(), members_.end(), self) - members_.begin());
    const auto block = [&](const Type& t, int rank) { return block_of(mesh, t.shape, t.layout, mesh.coord(rank)); };
    const Block in = block(site.ins[0], self), out = block(site.outs[0], self);
    const bool whole = op.transfer == Transfer::all_reduce || op.transfer == Transfer::all_reduce_max;
    for (int k = 0; k < n() && !whole; ++k) {
      const bool apart = is_local(op.transfer) && k != me_;
      outgoing_.push_back(apart ? std::vector<Box>{} : common_boxes(in, block(site.outs[0], members_[k])));
      incoming_.push_back(apart ? std::vector<Box>{} : common_boxes(block(site.ins[0], members_[k]), out));
    }
    if (const auto clique = clique_of(op, mesh, site.coord)) {
      what_ = describe(op, *clique, site.tag);
      if (site.comms) comm_ = &site.comms->at(*clique);
    }
    route();
  }

  i64 workspace() const { return workspace_; }

  void run(const Args& a) const {
    if (in_bytes_ == 0 && out_bytes_ == 0) return;
    if (n() > 1 && !is_local(op_.transfer))
      check(comm_ != nullptr, "a relayout between ranks on a single one: {}", what_);
    if (clears_) check_cuda(cudaMemsetAsync(a.outs[0], 0, size_t(out_bytes_), a.stream), "[relayout] zeros");
    before_.run(a.ins[0], a.outs[0], a.workspace, a.stream);
    transfer(a);
    after_.run(a.ins[0], a.outs[0], a.workspace, a.stream);
  }

 private:
  int n() const { return int(members_.size()); }

  void route() {
    switch (op_.transfer) {
      case Transfer::none:
        return;
      case Transfer::slice:
        return before_.add(outgoing_[me_], size_, {Memory::in}, {Memory::out});
      case Transfer::pad:
        clears_ = true;
        return before_.add(outgoing_[me_], size_, {Memory::in}, {Memory::out});
      case Transfer::keep_one:
        clears_ = me_ != 0;
        return;
      case Transfer::all_reduce:
      case Transfer::all_reduce_max:
        return check_dtype(op_.name, dtype_, {DType::f32, DType::bf16, DType::f64, DType::i32});
      case Transfer::reduce_scatter:
        check_dtype(op_.name, dtype_, {DType::f32, DType::bf16, DType::f64, DType::i32});
        return route_scatter();
      case Transfer::all_gather:
        return route_gather();
      case Transfer::all_to_all:
      case Transfer::rotate:
        return route_messages();
    }
  }

  // Whether the parts of the members, as they lie in their memories, lie in the whole one behind another.
  bool in_order(const std::vector<std::vector<Box>>& parts, i64 part_bytes, i64 Box::*place) const {
    for (int k = 0; k < n(); ++k)
      if (parts[k].size() != 1 || !parts[k][0].dense() || parts[k][0].*place * size_ != k * part_bytes) return false;
    return true;
  }

  void route_gather() {
    direct_ = in_order(incoming_, in_bytes_, &Box::to);
    if (direct_) return;
    workspace_ = out_bytes_;
    for (int k = 0; k < n(); ++k) after_.add(incoming_[k], size_, {Memory::workspace, k * in_bytes_}, {Memory::out});
  }

  void route_scatter() {
    check(!op_.in_place, "a reduce_scatter in place: CUDA kernels need room for the result");
    direct_ = in_order(outgoing_, out_bytes_, &Box::from);
    if (direct_) return;
    workspace_ = in_bytes_;
    for (int k = 0; k < n(); ++k) before_.add(outgoing_[k], size_, {Memory::in}, {Memory::workspace, k * out_bytes_});
  }

  struct Route {  // of a message
    int member;
    At place;
    i64 bytes;
  };

  // What rotates lies as one piece in both memories. Of what is sent to all, only some places may have to be packed:
  // workspace is planned for all that there is, as it must be enough for each of them.
  void route_messages() {
    const auto packed = [&](i64 bytes) {
      return At{Memory::workspace, std::exchange(workspace_, workspace_ + aligned(bytes))};
    };
    for (int k = 0; k < n(); ++k) {
      if (k == me_) continue;
      if (const i64 bytes = elements(outgoing_[k]) * size_) {
        const bool lies = is_message_from(outgoing_[k]);
        const At at = lies ? At{Memory::in, outgoing_[k][0].from * size_} : packed(bytes);
        if (!lies) before_.add(packed_to(outgoing_[k]), size_, {Memory::in}, at);
        sends_.push_back({k, at, bytes});
      }
      if (const i64 bytes = elements(incoming_[k]) * size_) {
        const bool lies = is_message_to(incoming_[k]);
        const At at = lies ? At{Memory::out, incoming_[k][0].to * size_} : packed(bytes);
        if (!lies) after_.add(packed_from(incoming_[k]), size_, at, {Memory::out});
        receives_.push_back({k, at, bytes});
      }
    }
    after_.add(incoming_[me_], size_, {Memory::in}, {Memory::out});
    if (op_.transfer == Transfer::all_to_all)
      workspace_ = aligned(in_bytes_) + aligned(out_bytes_) + 2 * aligned(1) * n();
  }

  void copy_all(const std::byte* from, std::byte* to, i64 bytes, cudaStream_t stream) const {
    if (from != to)
      check_cuda(cudaMemcpyAsync(to, from, size_t(bytes), cudaMemcpyDeviceToDevice, stream), "[relayout]");
  }

  void transfer(const Args& a) const {
    const std::byte* from = direct_ ? a.ins[0] : a.workspace;
    std::byte* to = direct_ ? a.outs[0] : a.workspace;
    const bool alone = n() == 1;
    switch (op_.transfer) {
      case Transfer::none:
        return copy_all(a.ins[0], a.outs[0], in_bytes_, a.stream);
      case Transfer::keep_one:
        return clears_ ? void() : copy_all(a.ins[0], a.outs[0], in_bytes_, a.stream);
      case Transfer::all_reduce:
      case Transfer::all_reduce_max:
        if (alone) return copy_all(a.ins[0], a.outs[0], in_bytes_, a.stream);
        return comm_->all_reduce(a.ins[0], a.outs[0], in_bytes_ / size_, dtype_,
                                 op_.transfer == Transfer::all_reduce_max, a.stream);
      case Transfer::all_gather:
        return alone ? copy_all(a.ins[0], to, in_bytes_, a.stream)
                     : comm_->all_gather(a.ins[0], to, in_bytes_ / size_, dtype_, a.stream);
      case Transfer::reduce_scatter:
        return alone ? copy_all(from, a.outs[0], out_bytes_, a.stream)
                     : comm_->reduce_scatter(from, a.outs[0], out_bytes_ / size_, dtype_, a.stream);
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
  i64 size_, in_bytes_, out_bytes_, workspace_ = 0;
  std::string what_;
  std::vector<int> members_;  // the group, in the mesh's order
  int me_ = 0;
  std::vector<std::vector<Box>> outgoing_, incoming_;  // by member
  Comm* comm_ = nullptr;
  bool direct_ = false;                  // of gathers and scatters: the whole is the parts one behind another
  bool clears_ = false;                  // the result is zero where nothing is copied to
  BoxCopyList before_, after_;           // the transfer
  std::vector<Route> sends_, receives_;  // of all-to-all
};

}  // namespace

Kernel prepare(const Relayout& op, const Site& site) {
  auto mover = std::make_shared<const Mover>(op, site);
  return {mover->workspace(), [mover](const Args& a) { mover->run(a); }};
}

// The executor ends the relayout that was begun.
Kernel prepare(const Wait&, const Site&) { return {}; }

Kernel prepare(const JoinPool&, const Site&) {
  return {0, [](const Args&) {}};
}

Kernel prepare(const StageTerm&, const Site&) {
  return {0, [](const Args&) {}};
}

}  // namespace megalith::cuda
