#include "ckpt/mapped_tensors.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace megalith {
namespace {

i64 floor_div(i64 a, i64 b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
i64 ceil_div(i64 a, i64 b) { return -floor_div(-a, b); }

// That holds the values of both.
DType common_type(DType a, DType b) {
  if (a == b) return a;
  return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32;
}

}  // namespace

// What do_read fills: elements [begin, end) of a tensor.
struct MappedTensors::Range {
  i64 begin, end;
  DType type;
  std::byte* out;
  std::vector<std::byte> stored{}, converted{};  // scratch

  std::byte* at(i64 element) { return out + (element - begin) * size_of(type); }
};

MappedTensors::Part MappedTensors::make_part(const Strides& block, MapTo side, std::size_t source) {
  const bool to_ours = side == MapTo::ours;
  const auto &to = to_ours ? block.ours : block.theirs, &from = to_ours ? block.theirs : block.ours;
  struct Dim {
    i64 size, to, from;
  };
  std::vector<Dim> dims;
  for (std::size_t d = 0; d < 3; ++d)
    if (block.size[d] != 1) dims.push_back({block.size[d], to[d], from[d]});
  std::ranges::sort(dims, std::greater<>(), &Dim::to);
  // Dimensions that follow each other on both sides are one.
  for (std::size_t d = dims.size(); d-- > 1;) {
    Dim &inner = dims[d], &outer = dims[d - 1];
    if (outer.to != inner.to * inner.size || outer.from != inner.from * inner.size) continue;
    outer = {outer.size * inner.size, inner.to, inner.from};
    dims.erase(dims.begin() + std::ptrdiff_t(d));
  }
  constexpr i64 kNever = std::numeric_limits<i64>::max() / 4;
  while (dims.size() < 3) dims.insert(dims.begin(), {1, dims.empty() ? 1 : kNever, 1});
  Part p{.source = source,
         .size = {},
         .to = {},
         .from = {},
         .to_start = to_ours ? block.our_start : block.their_start,
         .from_start = to_ours ? block.their_start : block.our_start};
  for (std::size_t d = 0; d < 3; ++d) p.size[d] = dims[d].size, p.to[d] = dims[d].to, p.from[d] = dims[d].from;
  check(p.to[2] == 1, "[ckpt] a link between tensors has no dimension of step 1");
  return p;
}

MappedTensors::MappedTensors(std::shared_ptr<const TensorReader> source, const TensorMapping& mapping, MapTo side,
                             const Options& options)
    : TensorReader(source->where()), source_(std::move(source)) {
  const bool to_ours = side == MapTo::ours;
  const auto &targets = to_ours ? mapping.ours : mapping.theirs, &sources = to_ours ? mapping.theirs : mapping.ours;
  std::vector<std::size_t> index;
  for (const NamedShape& t : sources) {
    const std::size_t i = source_->at(options.spell ? options.spell(t.name) : t.name);
    check(source_->tensors()[i].shape == t.shape, "[load] {}: tensor {} has shape {}, the model's is {}", where(),
          t.name, to_string(source_->tensors()[i].shape), to_string(t.shape));
    index.push_back(i);
  }
  targets_.resize(targets.size());
  std::vector<i64> linked(targets.size(), 0);
  for (const TensorLink& link : mapping.links) {
    const std::size_t to = to_ours ? link.ours : link.theirs, from = to_ours ? link.theirs : link.ours;
    targets_[to].parts.push_back(make_part(link.block, side, index[from]));
    linked[to] += link.block.size[0] * link.block.size[1] * link.block.size[2];
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    check(!targets_[i].parts.empty(), "[ckpt] nothing makes tensor {}", targets[i].name);
    targets_[i].covered = linked[i] == count(targets[i].shape);
    DType stored = source_->tensors()[targets_[i].parts[0].source].dtype;
    for (const Part& part : targets_[i].parts) stored = common_type(stored, source_->tensors()[part.source].dtype);
    add({options.prefix + targets[i].name, options.type.value_or(stored), targets[i].shape});
  }
}

void MappedTensors::do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const {
  Range range{begin, begin + n, tensors()[tensor].dtype, out};
  const Target& target = targets_[tensor];
  if (!target.covered) std::memset(out, 0, std::size_t(n * size_of(range.type)));
  for (const Part& part : target.parts) copy_part(part, range);
}

// A range of a transposed tensor is made from elements all over the source.
bool MappedTensors::reads_runs(std::size_t tensor) const {
  return std::ranges::all_of(targets_[tensor].parts, [](const Part& p) { return p.from[2] == 1; });
}

void MappedTensors::copy_part(const Part& p, Range& range) const {
  const i64 first = std::max<i64>(0, floor_div(range.begin - p.to_start, p.to[0]));
  const i64 last = std::min(p.size[0], ceil_div(range.end - p.to_start, p.to[0]));
  if (p.from[2] != 1) return copy_transposed(p, first, last, range);
  for (i64 i = first; i < last; ++i) copy_rows(p, i, range);
}

void MappedTensors::copy_rows(const Part& p, i64 i, Range& range) const {
  const i64 start = p.to_start + i * p.to[0];
  const i64 first = std::max<i64>(0, floor_div(range.begin - start, p.to[1]));
  const i64 last = std::min(p.size[1], ceil_div(range.end - start, p.to[1]));
  for (i64 j = first; j < last; ++j) {
    const i64 row = start + j * p.to[1];
    const i64 begin = std::max(range.begin, row), end = std::min(range.end, row + p.size[2]);
    if (begin >= end) continue;
    const i64 from = p.from_start + i * p.from[0] + j * p.from[1] + (begin - row);
    if (source_->tensors()[p.source].dtype == range.type) {
      source_->read_range(p.source, from, end - begin, range.at(begin));
    } else {
      std::memcpy(range.at(begin), fetch(p, from, end - begin, range),
                  std::size_t((end - begin) * size_of(range.type)));
    }
  }
}

// Slices [first, last) of a block whose rows here do not follow each other in the source: what they lie in there is
// read once from its begin to its end, for a file is read in long runs, and each element put in its place.
void MappedTensors::copy_transposed(const Part& p, i64 first, i64 last, Range& range) const {
  if (first >= last) return;
  const i64 element = size_of(range.type);
  const auto last_of = [&p](std::size_t d) { return (p.size[d] - 1) * p.from[d]; };
  const i64 begin = p.from_start + first * p.from[0];
  const i64 end = p.from_start + (last - 1) * p.from[0] + last_of(1) + last_of(2) + 1;
  for (i64 low = begin; low < end; low += kPieceElements) {
    const i64 high = std::min(end, low + kPieceElements);
    const std::byte* band = fetch(p, low, high - low, range);
    for (i64 i = first; i < last; ++i)
      for (i64 j = 0; j < p.size[1]; ++j) {
        const i64 to = p.to_start + i * p.to[0] + j * p.to[1], from = p.from_start + i * p.from[0] + j * p.from[1];
        const i64 k_first = std::max({i64{0}, range.begin - to, ceil_div(low - from, p.from[2])});
        const i64 k_last = std::min({p.size[2], range.end - to, ceil_div(high - from, p.from[2])});
        for (i64 k = k_first; k < k_last; ++k)
          std::memcpy(range.at(to + k), band + (from + k * p.from[2] - low) * element, std::size_t(element));
      }
  }
}

const std::byte* MappedTensors::fetch(const Part& p, i64 from, i64 n, Range& range) const {
  const DType stored = source_->tensors()[p.source].dtype;
  range.stored.resize(std::max(range.stored.size(), std::size_t(n * size_of(stored))));
  range.converted.resize(std::max(range.converted.size(), std::size_t(n * size_of(range.type))));
  source_->read_range(p.source, from, n, range.stored.data());
  convert_elements(stored, range.stored.data(), range.type, range.converted.data(), n);
  return range.converted.data();
}

}  // namespace megalith
