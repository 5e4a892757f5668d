#include "state/state_blocks.h"

#include <algorithm>
#include <bit>

#include "base/split_float.h"

namespace megalith {

i64 state_share_bytes(const PlannedStep& step, const StateShare& share) {
  const Plan& plan = step.plan;
  const auto kinds = [&](const std::string& leaf) {
    const auto is_there = [&](const std::string& suffix) {
      return plan.find_leaf(fmt::format("{}.{}", leaf, suffix)) != nullptr;
    };
    return 1 + (share.with_optimizer ? i64(std::ranges::count_if(step.states, is_there)) : 0);
  };
  i64 bytes = 0;
  for (const Pool& pool : step.pools) bytes += kinds(pool.name) * local_type(plan.mesh, pool.shard).bytes();
  for (const Parameter& p : step.pools.empty() ? step.parameters : std::vector<Parameter>()) {
    i64 holders = 1;
    for (Axis a : groups::stage)
      if (share.shared && !share.whole && !p.type.layout.state(a).is_split()) holders *= plan.mesh.n(a);
    const auto [rows, row] = rows_to_share(local_type(plan.mesh, p.type), holders);
    bytes += kinds(p.name) * ((rows + holders - 1) / holders) * row * size_of(DType::f32);
  }
  for (const Parameter& p : step.untrained) bytes += local_type(plan.mesh, p.type).bytes();
  return bytes;
}

// A checkpoint of such weights is worth nothing, and would take the place of a good one.
static void check_finite(const std::string& name, std::span<const float> values) {
  constexpr u32 kExponent = 0x7f800000;
  u32 bad = 0;
  for (const float x : values) bad |= u32((std::bit_cast<u32>(x) & kExponent) == kExponent);
  check(!bad, "weights are not finite: {} holds NaN or infinity", name);
}

StateBlocks::StateBlocks(const ModelState& model, const StateShare& share, bool copied)
    : model_(model), copied_(copied) {
  for (const StateTensor& t : model.tensors()) {
    if (!share.with_optimizer && !t.is_weight) continue;
    for (StatePiece& piece : share.whole ? model.pieces(t) : model.saved_pieces(t, share.shared)) {
      SaveTensor& out = tensors_.emplace_back(SaveTensor{t.name, piece.shape, DType::f32});
      out.global_shape = t.shape, out.offset = piece.offset;
      sources_.push_back({std::move(piece), bytes_});
      bytes_ += count(out.shape) * size_of(DType::f32);
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
    const auto join = [&](const std::byte* near, const std::byte* rest) {
      out.fill = [near, rest](i64 first, i64 elements, std::byte* to) {
        join_floats(near + 2 * first, rest + 2 * first, {reinterpret_cast<float*>(to), size_t(elements)});
      };
    };
    if (copied && piece.leaf->type.dtype == DType::f32) {
      out.data = memory + at;
      copy(*piece.leaf, memory + at);
    } else if (copied) {
      copy(*piece.beside, memory + at), copy(*piece.leaf, memory + at + 2 * n);
      join(memory + at, memory + at + 2 * n);
    } else if (const SplitView seen = model.split_view(piece)) {
      join(seen.near, seen.rest);
    } else if (!(out.data = model.host_view(piece))) {
      out.fill = [this, &from = piece](i64 begin, i64 n, std::byte* to) {
        const std::lock_guard lock(reading_);
        model_.read(from, begin, {reinterpret_cast<float*>(to), size_t(n)});
      };
    }
  }
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (SaveTensor& out = tensors_[i]; out.fill && is_weight_[i])
      out.fill = [name = out.name, fill = std::move(out.fill)](i64 begin, i64 n, std::byte* to) {
        fill(begin, n, to);
        check_finite(name, {reinterpret_cast<const float*>(to), size_t(n)});
      };
  if (copied) model.interpreter().begin_copies(copies);
}

void StateBlocks::wait() const {
  if (copied_) model_.interpreter().wait_for_copies();
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (const SaveTensor& t = tensors_[i]; t.data && is_weight_[i])
      check_finite(t.name, {static_cast<const float*>(t.data), size_t(count(t.shape))});
}

}  // namespace megalith
