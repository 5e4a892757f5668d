#include "ckpt/tensors/mapped_tensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include "base/check.h"
#include "base/threads.h"
#include "mesh/block_copy.h"

namespace megalith {
namespace {

i64 floor_div(i64 a, i64 b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
i64 ceil_div(i64 a, i64 b) { return -floor_div(-a, b); }

// That holds the values of both.
DType common_type(DType a, DType b) {
  if (a == b) return a;
  return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32;
}

// A row of ours, column `from` of a band of theirs.
struct Column {
  i64 from;
  std::byte* to;
};

// `to[i] = band[i, from]` for each column of a band with these rows and columns. Its tiles fit into a core's cache.
template <std::size_t kElement>
void copy_columns(const std::byte* band, i64 rows, i64 width, std::span<const Column> columns) {
  constexpr i64 kTile = 32, kGrain = 1 << 16;
  parallel_ranges(i64(columns.size()), kGrain / rows + 1, [&](i64 begin, i64 end) {
    for (i64 tile = 0; tile < rows; tile += kTile)
      for (const Column& c : columns.subspan(std::size_t(begin), std::size_t(end - begin)))
        for (i64 i = tile; i < std::min(rows, tile + kTile); ++i)
          std::memcpy(c.to + i * i64(kElement), band + (i * width + c.from) * i64(kElement), kElement);
  });
}

void copy_columns(i64 element, const std::byte* band, i64 rows, i64 width, std::span<const Column> columns) {
  if (element == 1) return copy_columns<1>(band, rows, width, columns);
  if (element == 2) return copy_columns<2>(band, rows, width, columns);
  if (element == 4) return copy_columns<4>(band, rows, width, columns);
  copy_columns<8>(band, rows, width, columns);
}

}  // namespace

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

TensorMapping part_of(const TensorMapping& mapping, const std::function<bool(const std::string& ours)>& wanted) {
  TensorMapping out;
  std::vector<std::optional<std::size_t>> ours(mapping.ours.size()), theirs(mapping.theirs.size());
  std::vector<bool> left_out(mapping.theirs.size());
  for (const TensorLink& link : mapping.links) {
    if (!wanted(mapping.ours[link.ours].name)) {
      left_out[link.theirs] = true;
      continue;
    }
    if (!ours[link.ours]) ours[link.ours] = out.ours.size(), out.ours.push_back(mapping.ours[link.ours]);
    if (!theirs[link.theirs])
      theirs[link.theirs] = out.theirs.size(), out.theirs.push_back(mapping.theirs[link.theirs]);
    out.links.push_back({*theirs[link.theirs], *ours[link.ours], link.block});
  }
  for (std::size_t i = 0; i < theirs.size(); ++i)
    check(!theirs[i] || !left_out[i], "[ckpt] only a part of {} is there", mapping.theirs[i].name);
  return out;
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
    targets_[i].transposed = std::ranges::any_of(targets_[i].parts, [](const Part& p) { return p.from[2] != 1; });
    DType stored = source_->tensors()[targets_[i].parts[0].source].dtype;
    for (const Part& part : targets_[i].parts) stored = common_type(stored, source_->tensors()[part.source].dtype);
    add({options.prefix + targets[i].name, options.type.value_or(stored), targets[i].shape});
  }
}

void MappedTensors::do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const {
  const TensorSpec& t = tensors()[tensor];
  const Target& target = targets_[tensor];
  if (!target.covered) std::memset(out, 0, std::size_t(n * size_of(t.dtype)));
  for (const Part& p : target.parts) {
    if (p.from[2] != 1) {
      copy_transposed(p, {begin, n, n, 1}, t.dtype, out);
      continue;
    }
    for_rows(p, begin, begin + n, [&](i64 row, i64 from, i64 k, i64 length) {
      source_->read_range_as(p.source, from + k, length, t.dtype, out + (row + k - begin) * size_of(t.dtype));
    });
  }
}

void MappedTensors::do_read_strip(std::size_t tensor, const Strip& strip, std::byte* out) const {
  const TensorSpec& t = tensors()[tensor];
  const Target& target = targets_[tensor];
  if (!std::ranges::all_of(target.parts, [](const Part& p) { return p.from[2] != 1; }))
    return TensorReader::do_read_strip(tensor, strip, out);
  if (!target.covered) std::memset(out, 0, std::size_t(strip.rows * strip.run * size_of(t.dtype)));
  for (const Part& part : target.parts) copy_transposed(part, strip, t.dtype, out);
}

void MappedTensors::do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const {
  const i64 element = size_of(tensors()[tensor].dtype);
  if (!targets_[tensor].transposed) return TensorReader::do_read_box(tensor, offset, shape, out);
  for_strips(tensors()[tensor].shape, offset, shape, [&](const Strip& strip) {
    do_read_strip(tensor, strip, out);
    out += strip.rows * strip.run * element;
  });
}

// Calls f for the link's rows. Arguments: start of a row here, and in the source, its first element k in [begin, end),
// count.
template <class F>
void MappedTensors::for_rows(const Part& p, i64 begin, i64 end, F&& f) {
  const i64 first_i = std::max<i64>(0, floor_div(begin - p.to_start, p.to[0]));
  const i64 last_i = std::min(p.size[0], ceil_div(end - p.to_start, p.to[0]));
  for (i64 i = first_i; i < last_i; ++i) {
    const i64 start = p.to_start + i * p.to[0];
    const i64 first_j = std::max<i64>(0, floor_div(begin - start, p.to[1]));
    const i64 last_j = std::min(p.size[1], ceil_div(end - start, p.to[1]));
    for (i64 j = first_j; j < last_j; ++j) {
      const i64 row = start + j * p.to[1], first = std::max<i64>(0, begin - row), last = std::min(p.size[2], end - row);
      if (first < last) f(row, p.from_start + i * p.from[0] + j * p.from[1], first, last - first);
    }
  }
}

// Rows here are columns in the source: rows that need the same source rows are read together, as a strip. A source may
// read a strip more cheaply than the full tensor. A source that is itself transposed reads along its own rows.
void MappedTensors::copy_transposed(const Part& p, const Strip& strip, DType type, std::byte* out) const {
  const i64 element = size_of(type), step = p.from[2];
  std::map<std::tuple<i64, i64, i64>, std::vector<Column>> alike;  // by row of the source, first and number of rows
  for (i64 r = 0; r < strip.rows; ++r) {
    const i64 begin = strip.begin + r * strip.step;
    for_rows(p, begin, begin + strip.run, [&](i64 row, i64 from, i64 k, i64 n) {
      alike[{from / step, k, n}].push_back({from % step, out + (r * strip.run + row + k - begin) * element});
    });
  }
  std::vector<std::byte> band;
  for (auto& [rows, columns] : alike) {
    const auto [low, high] = std::ranges::minmax(columns, {}, &Column::from);
    const auto [row, first, n] = rows;
    const i64 begin = low.from, width = high.from + 1 - begin, at_once = std::max<i64>(1, kPieceElements / width);
    for (Column& c : columns) c.from -= begin;
    for (i64 k = 0; k < n; k += at_once) {
      const i64 some = std::min(at_once, n - k);
      band.resize(std::size_t(some * width * element));
      source_->read_strip_as(p.source, {(row + first + k) * step + begin, width, step, some}, type, band.data());
      copy_columns(element, band.data(), some, width, columns);
      for (Column& c : columns) c.to += some * element;
    }
  }
}

}  // namespace megalith
