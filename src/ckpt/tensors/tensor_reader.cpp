#include "ckpt/tensors/tensor_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "ckpt/tensors/strided.h"
#include "mesh/block_copy.h"

namespace megalith {

static Shape sum(Shape a, const Shape& b) {
  for (std::size_t d = 0; d < a.size(); ++d) a[d] += b[d];
  return a;
}

static double element(DType type, const std::byte* at) {
  double wide = 0;
  float value = 0;
  if (type == DType::f64) return std::memcpy(&wide, at, sizeof wide), wide;
  unpack(Strides::flat(1), type, at, &value);
  return value;
}

// Error if a number of the tensor became infinite as f16 or bf16: it would be another model, which computes nothing.
static void check_range(const TensorSpec& t, const std::byte* in, DType type, const std::byte* out, i64 n) {
  if (type != DType::f16 && type != DType::bf16) return;
  const u16 infinite = type == DType::f16 ? 0x7c00 : 0x7f80;
  const auto is_infinite = [&](i64 i) {
    u16 bits = 0;
    std::memcpy(&bits, out + i * i64(sizeof bits), sizeof bits);
    return (bits & 0x7fff) == infinite;
  };
  i64 infinities = 0;  // counted first, which needs no branches: as a rule there are none
  for (i64 i = 0; i < n; ++i) infinities += is_infinite(i) ? 1 : 0;
  for (i64 i = 0; infinities > 0 && i < n; ++i) {
    if (!is_infinite(i)) continue;
    const double value = element(t.dtype, in + i * size_of(t.dtype));
    check(!std::isfinite(value), "[ckpt] tensor {} holds {:.6g}, which {} can't: choose {}", t.name, value,
          name_of(type), type == DType::f16 ? "bf16 or f32" : "f32");
  }
}

static void convert_within_range(const TensorSpec& t, const std::byte* in, DType type, std::byte* out, i64 n) {
  convert_elements(t.dtype, in, type, out, n);
  check_range(t, in, type, out, n);
}

std::optional<std::size_t> TensorReader::find(const std::string& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? std::nullopt : std::optional(it->second);
}

std::size_t TensorReader::at(const std::string& name) const {
  const auto i = find(name);
  check(i.has_value(), "[load] {} has no tensor {}", where_, name);
  return *i;
}

std::size_t TensorReader::add(TensorSpec spec) {
  check(index_.emplace(spec.name, tensors_.size()).second, "[load] {} has two tensors {}", where_, spec.name);
  tensors_.push_back(std::move(spec));
  return tensors_.size() - 1;
}

void TensorReader::read_range(std::size_t tensor, i64 begin, i64 n, std::byte* out) const {
  const TensorSpec& t = tensors_.at(tensor);
  check(begin >= 0 && n >= 0 && begin <= count(t.shape) && n <= count(t.shape) - begin,
        "[load] tensor {} has shape {}, no elements {} to {}", t.name, to_string(t.shape), begin, begin + n);
  if (n > 0) do_read(tensor, begin, n, out);
}

void TensorReader::read_range_as(std::size_t tensor, i64 begin, i64 n, DType type, std::byte* out) const {
  const TensorSpec& t = tensors_.at(tensor);
  if (t.dtype == type) return read_range(tensor, begin, n, out);
  std::vector<std::byte> piece(std::size_t(std::min(n, kPieceElements) * size_of(t.dtype)));
  for_pieces(n, [&](i64 at, i64 part) {
    read_range(tensor, begin + at, part, piece.data());
    convert_within_range(t, piece.data(), type, out + at * size_of(type), part);
  });
}

void TensorReader::read_box_as(std::size_t tensor, const Shape& offset, const Shape& shape, DType type,
                               std::span<std::byte> out) const {
  const TensorSpec& t = tensors_.at(tensor);
  bool inside = offset.size() == t.shape.size() && shape.size() == t.shape.size();
  for (std::size_t d = 0; inside && d < shape.size(); ++d)
    inside = offset[d] >= 0 && shape[d] >= 0 && shape[d] <= t.shape[d] && offset[d] <= t.shape[d] - shape[d];
  check(inside, "[load] tensor {} has shape {}, not a block {} at {}", t.name, to_string(t.shape), to_string(shape),
        to_string(offset));
  check(i64(out.size()) == count(shape) * size_of(type),
        "[load] block {} of tensor {} has {} bytes, its destination {}", to_string(shape), t.name,
        count(shape) * size_of(type), out.size());
  if (t.dtype == type) return do_read_box(tensor, offset, shape, out.data());
  std::byte* to = out.data();
  std::vector<std::byte> piece;
  for_pieces(count(shape), [&](i64 begin, i64 n) {
    for_boxes(shape, begin, n, [&](const Shape& at, const Shape& box) {
      piece.resize(std::size_t(count(box) * size_of(t.dtype)));
      do_read_box(tensor, sum(offset, at), box, piece.data());
      convert_within_range(t, piece.data(), type, to, count(box));
      to += count(box) * size_of(type);
    });
  });
}

void TensorReader::read_strip_as(std::size_t tensor, const Strip& s, DType type, std::byte* out) const {
  const TensorSpec& t = tensors_.at(tensor);
  check(s.begin >= 0 && s.run > 0 && s.rows > 0 && (s.step >= s.run || s.rows == 1) &&
            s.begin + (s.rows - 1) * s.step + s.run <= count(t.shape),
        "[load] tensor {} has shape {}, no {} runs of {} elements, each {} behind the one before, from {}", t.name,
        to_string(t.shape), s.rows, s.run, s.step, s.begin);
  if (t.dtype == type) return do_read_strip(tensor, s, out);
  const i64 at_once = std::min(s.rows, std::max<i64>(1, kPieceElements / s.run));
  std::vector<std::byte> piece(std::size_t(at_once * s.run * size_of(t.dtype)));
  for (i64 row = 0; row < s.rows; row += at_once) {
    const i64 rows = std::min(at_once, s.rows - row);
    do_read_strip(tensor, {s.begin + row * s.step, s.run, s.step, rows}, piece.data());
    convert_within_range(t, piece.data(), type, out + row * s.run * size_of(type), rows * s.run);
  }
}

// Short runs near each other are picked from one read of the stretch that contains them.
void TensorReader::do_read_strip(std::size_t tensor, const Strip& s, std::byte* out) const {
  const i64 element = size_of(tensors_[tensor].dtype), row_bytes = s.run * element;
  if (s.rows == 1 || s.run == s.step) return do_read(tensor, s.begin, s.rows * s.run, out);
  constexpr i64 kFar = 4;  // times as much as a run costs
  if (row_bytes >= cheapest_read() || s.step * element >= kFar * cheapest_read()) {
    for (i64 row = 0; row < s.rows; ++row) do_read(tensor, s.begin + row * s.step, s.run, out + row * row_bytes);
    return;
  }
  const i64 at_once = std::min(s.rows, std::max<i64>(1, kPieceElements / s.step));
  std::vector<std::byte> stretch(std::size_t(((at_once - 1) * s.step + s.run) * element));
  for (i64 row = 0; row < s.rows; row += at_once) {
    const i64 rows = std::min(at_once, s.rows - row);
    do_read(tensor, s.begin + row * s.step, (rows - 1) * s.step + s.run, stretch.data());
    for (i64 r = 0; r < rows; ++r)
      std::memcpy(out + (row + r) * row_bytes, stretch.data() + r * s.step * element, std::size_t(row_bytes));
  }
}

// Short runs are picked from one read of the stretch that contains them.
void TensorReader::do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const {
  if (count(shape) == 0) return;
  const TensorSpec& t = tensors_[tensor];
  const i64 element = size_of(t.dtype);
  i64 first = -1, last = 0, run = 0;
  for_runs(t.shape, offset, shape,
           [&](i64 begin, i64 n) { first = first < 0 ? begin : first, last = begin + n, run = n; });
  if (run * element >= cheapest_read() || run == last - first) {
    for_runs(t.shape, offset, shape, [&](i64 begin, i64 n) {
      read_range(tensor, begin, n, out);
      out += n * element;
    });
    return;
  }
  std::vector<std::byte> piece;
  const Shape strides = row_major_strides(shape);
  for_pieces(last - first, [&](i64 begin, i64 n) {
    piece.resize(std::size_t(n * element));
    read_range(tensor, first + begin, n, piece.data());
    const std::byte* from = piece.data();
    for_boxes(t.shape, first + begin, n, [&](const Shape& at, const Shape& box) {
      const Shape box_strides = row_major_strides(box);
      copy_common({at, box, box_strides}, from, {offset, shape, strides}, out, element);
      from += count(box) * element;
    });
  });
}

void convert_elements(DType from, const std::byte* in, DType to, std::byte* out, i64 n) {
  if (from == to) return void(std::memcpy(out, in, std::size_t(n * size_of(from))));
  if (to == DType::f32) return unpack(Strides::flat(n), from, in, reinterpret_cast<float*>(out));
  if (from == DType::f32) return pack(Strides::flat(n), to, reinterpret_cast<const float*>(in), out);
  constexpr i64 kStep = 1 << 14;
  std::vector<float> middle(std::size_t(std::min(n, kStep)));
  for (i64 at = 0; at < n; at += kStep) {
    const i64 part = std::min(kStep, n - at);
    unpack(Strides::flat(part), from, in + at * size_of(from), middle.data());
    pack(Strides::flat(part), to, middle.data(), out + at * size_of(to));
  }
}

}  // namespace megalith
