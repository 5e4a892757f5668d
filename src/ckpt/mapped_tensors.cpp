#include "ckpt/mapped_tensors.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace megalith {
namespace {

i64 floor_div(i64 a, i64 b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
i64 ceil_div(i64 a, i64 b) { return -floor_div(-a, b); }

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
    const DType stored = source_->tensors()[targets_[i].parts[0].source].dtype;
    add({options.prefix + targets[i].name, options.type.value_or(stored), targets[i].shape});
  }
}

void MappedTensors::do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const {
  Range range{begin, begin + n, tensors()[tensor].dtype, out};
  const Target& target = targets_[tensor];
  if (!target.covered) std::memset(out, 0, std::size_t(n * size_of(range.type)));
  for (const Part& part : target.parts) copy_part(part, range);
}

void MappedTensors::copy_part(const Part& p, Range& range) const {
  const i64 first = std::max<i64>(0, floor_div(range.begin - p.to_start, p.to[0]));
  const i64 last = std::min(p.size[0], ceil_div(range.end - p.to_start, p.to[0]));
  for (i64 i = first; i < last; ++i) copy_rows(p, i, range);
}

void MappedTensors::copy_rows(const Part& p, i64 i, Range& range) const {
  const i64 start = p.to_start + i * p.to[0];
  const i64 first = std::max<i64>(0, floor_div(range.begin - start, p.to[1]));
  const i64 last = std::min(p.size[1], ceil_div(range.end - start, p.to[1]));
  if (p.from[2] != 1) return copy_columns(p, i, first, last, range);
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

// Rows [first, last) of a transposed block: what lies in a row there follows each other down a column here.
void MappedTensors::copy_columns(const Part& p, i64 i, i64 first, i64 last, Range& range) const {
  if (first >= last) return;
  const i64 element = size_of(range.type), start = p.to_start + i * p.to[0];
  const i64 step = p.from[1] == 1 ? last - first : 1;  // rows that are read together
  for (i64 j0 = first; j0 < last; j0 += step)
    for (i64 k = 0; k < p.size[2]; ++k) {
      const i64 top = start + j0 * p.to[1] + k, bottom = top + (step - 1) * p.to[1];
      if (bottom < range.begin || top >= range.end) continue;
      const std::byte* column = fetch(p, p.from_start + i * p.from[0] + j0 * p.from[1] + k * p.from[2], step, range);
      for (i64 j = 0; j < step; ++j) {
        const i64 to = top + j * p.to[1];
        if (to >= range.begin && to < range.end) std::memcpy(range.at(to), column + j * element, std::size_t(element));
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
