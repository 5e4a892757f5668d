// Initial values of a model's tensors, and access to elements of leaves that hold them in another form.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/split_float.h"
#include "base/split_floats.h"
#include "mesh/block_copy.h"
#include "passes/gradients.h"
#include "plan/filled_writes.h"
#include "step/model_state.h"

namespace megalith {

namespace {

// This many are written together: so few that one core is as fast as several.
constexpr size_t kWrittenAtOnce = size_t{1} << 17;

// values as elements of a leaf's type. State of the optimizer rounds ties to even.
void put_elements(std::span<const float> values, const Leaf& leaf, std::byte* to) {
  const DType type = leaf.type.dtype;
  if (type == DType::f32) return void(std::memcpy(to, values.data(), values.size_bytes()));
  if (type == DType::u16) return low_halves_of(values, reinterpret_cast<u16*>(to));
  if (type == DType::f16) return void(std::ranges::copy(values, reinterpret_cast<f16*>(to)));
  if (leaf.role == Role::optimizer) return void(std::ranges::copy(values, reinterpret_cast<bf16*>(to)));
  bf16_halves_of(values, reinterpret_cast<bf16*>(to));
}

}  // namespace

void ModelState::write_elements(const Leaf& leaf, i64 begin, std::span<const float> values) {
  const DType type = leaf.type.dtype;
  check(type == DType::f32 || type == DType::bf16 || type == DType::f16 || type == DType::u16,
        "{} is {}: weights and state are f32, bf16, low halves, or f16", leaf.name, name_of(type));
  auto* const filled = dynamic_cast<FilledWrites*>(&interpreter_);
  const size_t at_once = filled ? FilledWrites::kMost / sizeof(float) : kWrittenAtOnce;
  std::vector<std::byte> elements;
  while (!values.empty()) {
    const std::span<const float> some = values.first(std::min(values.size(), at_once));
    const i64 at = begin * size_of(type), bytes = i64(some.size()) * size_of(type);
    if (filled) {
      filled->fill_part(leaf, at, bytes, [&](std::byte* to) { put_elements(some, leaf, to); });
    } else if (type == DType::f32) {
      interpreter_.write_part(leaf, at, std::as_bytes(some));
    } else {
      elements.resize(size_t(bytes));
      put_elements(some, leaf, elements.data());
      interpreter_.write_part(leaf, at, elements);
    }
    begin += i64(some.size()), values = values.subspan(some.size());
  }
}

void ModelState::write(const StatePiece& piece, i64 begin, std::span<const float> values) {
  write_elements(*piece.leaf, piece.begin + begin, values);
  if (piece.beside) write_elements(*piece.beside, piece.begin + begin, values);
}

void ModelState::write(const StatePiece& piece, i64 begin, std::span<const std::byte> values) {
  if (piece.dtype == DType::f32)
    return write(piece, begin, std::span(reinterpret_cast<const float*>(values.data()), values.size() / sizeof(float)));
  interpreter_.write_part(*piece.leaf, (piece.begin + begin) * size_of(piece.dtype), values);
}

void ModelState::read(const StatePiece& piece, i64 begin, std::span<std::byte> out) const {
  if (piece.dtype == DType::f32)
    return read(piece, begin, std::span(reinterpret_cast<float*>(out.data()), out.size() / sizeof(float)));
  interpreter_.read_part(*piece.leaf, (piece.begin + begin) * size_of(piece.dtype), out);
}

template <class T>
void ModelState::read_narrow(const StatePiece& piece, i64 begin, std::span<float> out) const {
  std::vector<T> bf16_half(size_t(std::min(i64(out.size()), kJoinedAtOnce)));
  while (!out.empty()) {
    const std::span some = std::span(bf16_half).first(std::min(bf16_half.size(), out.size()));
    interpreter_.read_part(*piece.leaf, (piece.begin + begin) * i64(sizeof(T)), std::as_writable_bytes(some));
    std::ranges::copy(some, out.begin());
    begin += i64(some.size()), out = out.subspan(some.size());
  }
}

void ModelState::read(const StatePiece& piece, i64 begin, std::span<float> out) const {
  if (piece.leaf->type.dtype == DType::bf16) return read_narrow<bf16>(piece, begin, out);
  if (piece.leaf->type.dtype == DType::f16) return read_narrow<f16>(piece, begin, out);
  if (piece.leaf->type.dtype == DType::f32)
    return interpreter_.read_part(*piece.leaf, (piece.begin + begin) * i64(sizeof(float)), std::as_writable_bytes(out));
  if (const SplitView seen = split_view(piece))
    return join_floats(seen.bf16_half + 2 * begin, seen.low_half + 2 * begin, out);
  const i64 most = std::min(i64(out.size()), kJoinedAtOnce);
  std::vector<std::byte> parts(size_t(4 * most));
  for (i64 i = 0; i < i64(out.size()); i += most) {
    const size_t n = size_t(std::min(most, i64(out.size()) - i));
    const std::span bf16_half = std::span(parts).first(2 * n), low_half = std::span(parts).subspan(2 * n, 2 * n);
    interpreter_.read_part(*piece.beside, 2 * (piece.begin + begin + i), bf16_half);
    interpreter_.read_part(*piece.leaf, 2 * (piece.begin + begin + i), low_half);
    join_floats(bf16_half.data(), low_half.data(), out.subspan(size_t(i), n));
  }
}

void ModelState::initialise(u64 seed) {
  const bool cut = !step_.buckets.empty(), parts = cut && !step_.buckets[0].starts_in_gradients();
  if (parts) initialise_parts(seed);
  for (const Parameter& p : parts ? std::vector<Parameter>() : step_.parameters) {
    const Draw start = start_of(p, seed);
    const Leaf& gradient = cut ? step_.plan.leaf(gradient_name(p.name)) : step_.plan.leaf(p.name);
    if (!cut || gives_values(gradient)) interpreter_.draw(gradient, start);
    if (const Leaf* main = cut ? nullptr : step_.plan.find_leaf(main_name(p.name))) interpreter_.draw(*main, start);
  }
  for (const Parameter& p : step_.untrained) initialise_untrained(p, seed);
  if (cut && !parts) run("take main");
  finish();
}

void ModelState::initialise_parts(u64 seed) {
  for (const StateTensor& t : tensors_) {
    if (!t.is_weight || !t.is_trained) continue;
    const Type& type = t.parameter->type;
    std::vector<float> block(size_t(local_type(step_.plan.mesh, type).elements()));
    draw(start_of(*t.parameter, seed), type, step_.plan.mesh, coord_, block.data());
    const Place place = place_of(t);
    const std::span some = std::span(block).subspan(size_t(place.first), size_t(place.count));
    write(StatePiece{place.leaf, place.beside, place.begin, {}, {}}, 0, std::span<const float>(some));
  }
}

// Draws values that an interpreter does not draw.
void ModelState::initialise_untrained(const Parameter& p, u64 seed) {
  const Leaf& leaf = step_.plan.leaf(p.name);
  const DType type = leaf.type.dtype;
  if (type == DType::f32 || type == DType::bf16) return interpreter_.draw(leaf, start_of(p, seed));
  std::vector<float> drawn(size_t(local_type(step_.plan.mesh, leaf.type).elements()));
  draw(start_of(p, seed), leaf.type, step_.plan.mesh, coord_, drawn.data());
  const auto write_as = [&]<class T>(std::vector<T> values) { interpreter_.write(leaf, values.data()); };
  if (type == DType::f64) return write_as(std::vector<double>(drawn.begin(), drawn.end()));
  std::vector<i32> whole(drawn.size());
  std::ranges::transform(drawn, whole.begin(), [](float x) { return i32(std::lround(x)); });
  write_as(std::move(whole));
}

void ModelState::forget_moments() {
  for (const Leaf& leaf : step_.plan.leaves)
    if (leaf.role == Role::optimizer) interpreter_.draw(leaf, {});
}

}  // namespace megalith
