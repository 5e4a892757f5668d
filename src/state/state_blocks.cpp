#include "state/state_blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/split_float.h"

namespace megalith {

i64 state_share_bytes(const PlannedStep& step, const StateShare& share) {
  const Plan& plan = step.plan;
  // Of an element: the weight in f32, or in two parts, and the optimizer's states.
  const auto element = [&](const std::string& leaf) {
    i64 bytes = size_of(DType::f32);
    for (const std::string& suffix : share.with_optimizer ? step.states : std::vector<std::string>())
      if (const Leaf* state = plan.find_leaf(fmt::format("{}.{}", leaf, suffix))) bytes += size_of(state->type.dtype);
    return bytes;
  };
  i64 bytes = 0;
  for (const Bucket& bucket : step.buckets)
    bytes += element(bucket.name) * local_type(plan.mesh, bucket.shard).elements();
  for (const Parameter& p : step.buckets.empty() ? step.parameters : std::vector<Parameter>()) {
    i64 holders = 1;
    for (Axis a : groups::stage)
      if (share.shared && !share.whole && !p.type.layout.state(a).is_split()) holders *= plan.mesh.n(a);
    const auto [rows, row] = rows_to_share(local_type(plan.mesh, p.type), holders);
    bytes += element(p.name) * ((rows + holders - 1) / holders) * row;
  }
  for (const Parameter& p : step.untrained) bytes += local_type(plan.mesh, p.type).bytes();
  const auto is_other = [](const Leaf& l) { return size_of(l.type.dtype) != size_of(DType::f32); };
  const bool several_sizes =
      std::ranges::any_of(plan.leaves, [&](const Leaf& l) { return l.role == Role::optimizer && is_other(l); }) ||
      std::ranges::any_of(step.untrained, [](const Parameter& p) { return size_of(p.type.dtype) != 4; });
  const i64 tensors = i64(step.parameters.size() * (1 + step.states.size()) + step.untrained.size());
  return bytes + (several_sizes ? tensors * size_of(DType::f64) : 0);  // each begins at a multiple of its element
}

// A checkpoint of such weights is useless, and would replace a good one.
static void check_finite(const SaveTensor& t, i64 n, const std::byte* values) {
  constexpr u32 kExponent = 0x7f800000;
  const auto any = [&]<class T>(auto&& is_bad) {
    u32 bad = 0;
    for (const T x : std::span(reinterpret_cast<const T*>(values), size_t(n))) bad |= u32(is_bad(x));
    return bad != 0;
  };
  const auto is_bad = [](float x) { return (std::bit_cast<u32>(x) & kExponent) == kExponent; };
  const bool bad = t.dtype == DType::f32    ? any.operator()<float>(is_bad)
                   : t.dtype == DType::bf16 ? any.operator()<bf16>(is_bad)
                   : t.dtype == DType::f64  ? any.operator()<double>([](double x) { return !std::isfinite(x); })
                                            : false;
  check(!bad, "weights are not finite: {} holds NaN or infinity", t.name);
}

namespace {

// Bytes of an element's copy: in the leaf, and in the leaf that it is joined with.
i64 copied_element(const Leaf& leaf) { return leaf.type.dtype == DType::u16 ? 4 : size_of(leaf.type.dtype); }

void widen(DType type, const std::byte* bf16_half, std::span<float> out) {
  if (type == DType::bf16)
    std::copy_n(reinterpret_cast<const bf16*>(bf16_half), out.size(), out.begin());
  else
    std::copy_n(reinterpret_cast<const f16*>(bf16_half), out.size(), out.begin());
}

}  // namespace

StateBlocks::StateBlocks(const ModelState& model, const StateShare& share, bool copied)
    : model_(model), copied_(copied) {
  for (const StateTensor& t : model.tensors()) {
    if (!share.with_optimizer && !t.is_weight) continue;
    for (StatePiece& piece : share.whole ? model.pieces(t) : model.saved_pieces(t, share.shared)) {
      SaveTensor& out = tensors_.emplace_back(SaveTensor{t.name, piece.shape, t.dtype()});
      out.global_shape = t.shape, out.offset = piece.offset, out.is_trained = t.is_trained;
      const i64 element = copied_element(*piece.leaf), begin = (bytes_ + element - 1) / element * element;
      bytes_ = begin + count(out.shape) * element;
      sources_.push_back({std::move(piece), begin});
      is_weight_.push_back(t.is_weight);
    }
  }
  std::byte* memory = copied ? model.interpreter().host_memory(bytes_) : nullptr;
  std::vector<Interpreter::Copy> copies;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const auto& [piece, at] = sources_[i];
    SaveTensor& out = tensors_[i];
    const i64 n = count(piece.shape);
    const auto copy = [&](const Leaf& leaf, std::byte* to) {
      const i64 element = size_of(leaf.type.dtype);
      copies.push_back({&leaf, piece.begin * element, {to, size_t(n * element)}});
    };
    const auto join = [&](const std::byte* bf16_half, const std::byte* low_half) {
      out.fill = [bf16_half, low_half](i64 first, i64 elements, std::byte* to) {
        join_floats(bf16_half + 2 * first, low_half + 2 * first, {reinterpret_cast<float*>(to), size_t(elements)});
      };
    };
    if (copied && piece.leaf->type.dtype == piece.dtype) {
      out.data = memory + at;
      copy(*piece.leaf, memory + at);
    } else if (const DType type = piece.leaf->type.dtype; copied && (type == DType::bf16 || type == DType::f16)) {
      copy(*piece.leaf, memory + at);
      out.fill = [type, bf16_half = memory + at](i64 first, i64 elements, std::byte* to) {
        widen(type, bf16_half + 2 * first, {reinterpret_cast<float*>(to), size_t(elements)});
      };
    } else if (copied) {
      copy(*piece.beside, memory + at), copy(*piece.leaf, memory + at + 2 * n);
      join(memory + at, memory + at + 2 * n);
    } else if (const SplitView seen = model.split_view(piece)) {
      join(seen.bf16_half, seen.low_half);
    } else if (!(out.data = model.host_view(piece))) {
      out.fill = [this, &from = piece](i64 begin, i64 n, std::byte* to) {
        const std::lock_guard lock(reading_);
        model_.read(from, begin, std::span(to, size_t(n * size_of(from.dtype))));
      };
    }
  }
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (SaveTensor& out = tensors_[i]; out.fill && is_weight_[i])
      out.fill = [like = SaveTensor{out.name, {}, out.dtype}, fill = std::move(out.fill)](i64 begin, i64 n,
                                                                                          std::byte* to) {
        fill(begin, n, to);
        check_finite(like, n, to);
      };
  if (copied) model.interpreter().begin_copies(copies);
}

i64 StateBlocks::written() const {
  i64 sum = 0;
  for (const SaveTensor& t : tensors_) sum += bytes_of(t);
  return sum;
}

void StateBlocks::wait() const {
  if (copied_) model_.interpreter().wait_for_copies();
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (const SaveTensor& t = tensors_[i]; t.data && is_weight_[i])
      check_finite(t, count(t.shape), static_cast<const std::byte*>(t.data));
}

}  // namespace megalith
