// Relayouts between CPU ranks. Each kind of transfer is one exchange of messages (comm/ranks.h), cut by the blocks of
// the ranks (mesh/pieces.h). Sums add the terms in rank order, so all ranks and all runs have the same bits. 16-bit
// terms are added in f32.
#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "exec/cpu/kernel.h"
#include "mesh/pieces.h"

namespace megalith::cpu {

namespace {

// Copies depend only on the size of an element, and not on its type.
void copy_boxes(const std::vector<Box>& boxes, i64 element, const std::byte* from, std::byte* to) {
  const auto as = [&]<class T>() {
    for (const Box& b : boxes) copy_box(b, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to));
  };
  element == 8   ? as.template operator()<u64>()
  : element == 4 ? as.template operator()<u32>()
  : element == 2 ? as.template operator()<u16>()
                 : as.template operator()<u8>();
}

// One rank's part in a relayout.
class Mover {
 public:
  Mover(const Relayout& op, const KernelContext& context)
      : op_(op),
        ranks_(context.ranks),
        dtype_(context.ins[0].dtype),
        size_(size_of(dtype_)),
        in_elements_(count(context.in_shape(0))),
        out_elements_(count(context.out_shape(0))),
        doing_(
            fmt::format("{} over {}, {}", name_of(op.transfer), to_string(op.axes, context.mesh.used()), context.tag)) {
    const Mesh& mesh = context.mesh;
    const auto block = [&](const Type& t, int rank) { return block_of(mesh, t.shape, t.layout, mesh.coord(rank)); };
    const int self = mesh.rank(context.coord);
    members_ = op.group(mesh, context.coord);
    me_ = int(std::find(members_.begin(), members_.end(), self) - members_.begin());
    if (op.transfer == Transfer::all_reduce || op.transfer == Transfer::all_reduce_max) return;
    for (int k = 0; k < n(); ++k) {
      const bool apart = is_local(op.transfer) && k != me_;
      const Block mine_in = block(context.ins[0], self), mine_out = block(context.outs[0], self);
      outgoing_.push_back(apart ? std::vector<Box>{} : common_boxes(mine_in, block(context.outs[0], members_[k])));
      incoming_.push_back(apart ? std::vector<Box>{} : common_boxes(block(context.ins[0], members_[k]), mine_out));
    }
    if (!is_local(op.transfer)) find_places(block, context);
  }

  i64 workspace() const {
    switch (op_.transfer) {
      case Transfer::all_gather:
      case Transfer::all_to_all:
      case Transfer::rotate:
        return packed_bytes() + (lands_in_place() ? 0 : out_elements_ * size_);
      case Transfer::reduce_scatter:  // terms of the others, and the sum if it must be unpacked
        return packed_bytes() + (n() - 1 + (lands_in_place() ? 0 : 1)) * out_elements_ * size_;
      case Transfer::all_reduce:
      case Transfer::all_reduce_max:
        return n() * share() * size_;
      default:
        return 0;
    }
  }

  void start(const Args& a) {
    switch (op_.transfer) {
      case Transfer::none:
        if (a.ins[0] != a.outs[0]) std::memcpy(a.outs[0], a.ins[0], size_t(in_elements_ * size_));
        return;
      case Transfer::slice:
        return copy_boxes(outgoing_[me_], size_, a.ins[0], a.outs[0]);
      case Transfer::pad:
        std::memset(a.outs[0], 0, size_t(out_elements_ * size_));
        return copy_boxes(outgoing_[me_], size_, a.ins[0], a.outs[0]);
      case Transfer::keep_one:
        if (me_ != 0)
          std::memset(a.outs[0], 0, size_t(out_elements_ * size_));
        else if (a.ins[0] != a.outs[0])
          std::memcpy(a.outs[0], a.ins[0], size_t(in_elements_ * size_));
        return;
      case Transfer::all_reduce:
      case Transfer::all_reduce_max:
        return start_shares(a);
      default:
        return start_pieces(a);
    }
  }

  void finish(const Args& a) {
    if (is_local(op_.transfer)) return;
    check_ranks();
    ranks_->doing(&doing_);
    ranks_->wait(ticket_);
    if (op_.transfer == Transfer::reduce_scatter)
      sum_pieces(a);
    else if (op_.transfer == Transfer::all_reduce || op_.transfer == Transfer::all_reduce_max)
      spread_shares(a);
    else
      place_pieces(a);
    ranks_->doing(nullptr);
  }

 private:
  // Finds out whether messages of any pair of the group must be packed or unpacked. It checks the pairs of the first
  // member and of this one. If blocks differ (zigzag), the first member's pairs are the worst.
  template <class F>
  void find_places(F&& block, const KernelContext& context) {
    const auto look = [&](const std::vector<Box>& boxes) {
      if (boxes.empty()) return;
      sends_in_place_ &= is_message_from(boxes), lands_in_place_ &= is_message_to(boxes);
    };
    const int first = members_[0];
    for (int k : members_) {
      look(common_boxes(block(context.ins[0], first), block(context.outs[0], k)));
      look(common_boxes(block(context.ins[0], k), block(context.outs[0], first)));
    }
    for (const auto* boxes : {&outgoing_, &incoming_})
      for (const auto& message : *boxes) look(message);
  }

  int n() const { return int(members_.size()); }
  i64 share() const { return (in_elements_ + n() - 1) / n(); }  // elements of an all-reduce that one rank sums
  i64 share_begin(int k) const { return std::min(in_elements_, k * share()); }
  i64 share_size(int k) const { return share_begin(k + 1) - share_begin(k); }

  // Sent data is packed at the begin of the workspace, unless all of it is sent in place. With zigzag blocks this
  // depends on the rank. All ranks use the larger size, because they share one plan.
  i64 packed_bytes() const { return sends_in_place_ ? 0 : in_elements_ * size_; }
  bool lands_in_place() const { return lands_in_place_; }

  void check_ranks() const {
    check(ranks_ != nullptr, "a relayout between ranks on a single one: {} of {} ranks", doing_, n());
  }
  void exchange(const std::vector<Piece>& sends, const std::vector<Piece>& receives) {
    check_ranks();
    ranks_->doing(&doing_);
    ticket_ = ranks_->exchange(op_.lane, sends, receives);
  }

  // Messages are sent and received in place if memory order is message order. Otherwise sent messages are packed at the
  // begin of the workspace, and received messages come after them.
  void start_pieces(const Args& a) {
    const bool sums = op_.transfer == Transfer::reduce_scatter, same = op_.transfer == Transfer::all_gather;
    std::vector<Piece> sends, receives;
    bool has_packed = false;
    std::byte* packed = a.workspace;
    std::byte* received = a.workspace + packed_bytes();
    received_.assign(size_t(n()), nullptr);
    for (int k = 0; k < n(); ++k) {
      const i64 out = elements(outgoing_[k]) * size_, in = elements(incoming_[k]) * size_;
      const bool in_place = out == 0 || sends_in_place_;
      std::byte* from = in_place ? a.ins[0] + (out ? outgoing_[k][0].from * size_ : 0) : packed;
      if (!in_place && (k != me_ || sums) && !(same && has_packed)) {
        copy_boxes(packed_to(outgoing_[k]), size_, a.ins[0], packed);
        has_packed = true;
        if (!same) packed += out;  // an all-gather sends the same message to all
      }
      if (k == me_) {
        received_[k] = from;
        continue;
      }
      const bool lands = !sums && in > 0 && lands_in_place_;
      received_[k] = lands ? a.outs[0] + incoming_[k][0].to * size_ : received;
      if (!lands) received += in;
      if (out) sends.push_back({members_[k], from, out});
      if (in) receives.push_back({members_[k], received_[k], in});
    }
    exchange(sends, receives);
  }

  void place_pieces(const Args& a) {
    copy_boxes(incoming_[me_], size_, a.ins[0], a.outs[0]);
    for (int k = 0; k < n(); ++k)
      if (k != me_ && !lands_in_place_) copy_boxes(packed_from(incoming_[k]), size_, received_[k], a.outs[0]);
  }

  void sum_pieces(const Args& a) {
    std::byte* sum = lands_in_place_ ? a.outs[0] : a.workspace + workspace() - out_elements_ * size_;
    reduce(sum, received_, out_elements_);
    if (!lands_in_place_) copy_boxes(packed_from(incoming_[me_]), size_, sum, a.outs[0]);
  }

  void start_shares(const Args& a) {
    std::vector<Piece> sends, receives;
    received_.assign(size_t(n()), nullptr);
    for (int k = 0; k < n(); ++k) {
      if (k == me_) {
        received_[k] = a.ins[0] + share_begin(me_) * size_;
        continue;
      }
      received_[k] = a.workspace + k * share() * size_;
      sends.push_back({members_[k], a.ins[0] + share_begin(k) * size_, share_size(k) * size_});
      receives.push_back({members_[k], received_[k], share_size(me_) * size_});
    }
    exchange(sends, receives);
  }

  void spread_shares(const Args& a) {
    std::byte* mine = a.outs[0] + share_begin(me_) * size_;
    reduce(mine, received_, share_size(me_));
    std::vector<Piece> sends, receives;
    for (int k = 0; k < n(); ++k) {
      if (k == me_) continue;
      sends.push_back({members_[k], mine, share_size(me_) * size_});
      receives.push_back({members_[k], a.outs[0] + share_begin(k) * size_, share_size(k) * size_});
    }
    exchange(sends, receives);
    ranks_->wait(ticket_);
  }

  // out = the sum or the maximum of the terms, in rank order. `out` may be one of the terms.
  void reduce(std::byte* out, const std::vector<std::byte*>& terms, i64 n) const {
    const bool largest = op_.transfer == Transfer::all_reduce_max;
    dispatch_float(dtype_, [&]<class T>() {
      parallel_ranges(n, 1 << 14, [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; ++i) {
          auto at = [&](size_t k) { return accum_t<T>(reinterpret_cast<const T*>(terms[k])[i]); };
          accum_t<T> x = at(0);
          for (size_t k = 1; k < terms.size(); ++k) x = largest ? std::max(x, at(k)) : x + at(k);
          reinterpret_cast<T*>(out)[i] = T(x);
        }
      });
    });
  }

  Relayout op_;
  Ranks* ranks_;
  DType dtype_;
  i64 size_, in_elements_, out_elements_;
  std::string doing_;
  std::vector<int> members_;  // the group, in the mesh's order
  int me_ = 0;
  std::vector<std::vector<Box>> outgoing_, incoming_;  // by member
  std::vector<std::byte*> received_;                   // by member: its message
  bool sends_in_place_ = true, lands_in_place_ = true;
  int ticket_ = -1;
};

}  // namespace

Kernel prepare(const Relayout& op, const KernelContext& context) {
  auto mover = std::make_shared<Mover>(op, context);
  if (op.lane)
    return {mover->workspace(), [mover](const Args& a) { mover->start(a); },
            [mover](const Args& a) { mover->finish(a); }};
  return {mover->workspace(), [mover](const Args& a) { mover->start(a), mover->finish(a); }};
}

Kernel prepare(const JoinBucket&, const KernelContext&) {
  return {0, [](const Args&) {}};
}

Kernel prepare(const StageTerm&, const KernelContext&) {
  return {0, [](const Args&) {}};
}

// Wait has no kernel: the executor calls finish() of the relayout's kernel.
Kernel prepare(const Wait&, const KernelContext&) { return {}; }

}  // namespace megalith::cpu
