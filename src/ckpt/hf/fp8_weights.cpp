#include "ckpt/hf/fp8_weights.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "quant/small_float.h"

namespace megalith {
namespace {

std::array<float, 256> all_codes() {
  std::array<float, 256> values{};
  for (unsigned code = 0; code < values.size(); ++code) values[code] = quant::E4M3::decode(code);
  return values;
}

class Fp8Weights final : public TensorReader {
 public:
  Fp8Weights(std::shared_ptr<const TensorReader> files, const Fp8Blocks& blocks)
      : TensorReader(files->where()), files_(std::move(files)), blocks_(blocks), values_(all_codes()) {
    for (std::size_t i = 0; i < files_->tensors().size(); ++i) {
      const TensorSpec& t = files_->tensors()[i];
      if (is_scale(t.name)) continue;
      const auto scales = files_->find(t.name + std::string(kFp8Scale));
      check_scales(t, scales);
      add({t.name, scales ? DType::f32 : t.dtype, t.shape});
      places_.push_back({i, scales});
    }
  }

 private:
  struct Place {
    std::size_t tensor;
    std::optional<std::size_t> scales;
  };

  // Error for scales of no tensor.
  bool is_scale(const std::string& name) const {
    if (!name.ends_with(kFp8Scale)) return false;
    const std::string weight = name.substr(0, name.size() - kFp8Scale.size());
    check(files_->find(weight).has_value(), "[hf] {}: {} has no tensor {} that it scales", where(), name, weight);
    return true;
  }

  void check_scales(const TensorSpec& t, std::optional<std::size_t> scales) const {
    const bool codes = t.dtype == DType::f8_e4m3;
    check(codes == scales.has_value(), "[hf] {}: tensor {} of type {} has {} {}{}", where(), t.name, name_of(t.dtype),
          scales ? "a" : "no", t.name, kFp8Scale);
    if (!scales) return;
    const TensorSpec& s = files_->tensors()[*scales];
    check(t.shape.size() == 2, "[hf] {}: tensor {} of f8_e4m3 has shape {}: want a matrix", where(), t.name,
          to_string(t.shape));
    const Shape want = {(t.shape[0] + blocks_.rows - 1) / blocks_.rows,
                        (t.shape[1] + blocks_.columns - 1) / blocks_.columns};
    check(s.shape == want && is_float(s.dtype), "[hf] {}: {} is {} of shape {}: blocks of {} x {} in {} need {}",
          where(), s.name, name_of(s.dtype), to_string(s.shape), blocks_.rows, blocks_.columns, to_string(t.shape),
          to_string(want));
  }

  void do_read(std::size_t tensor, i64 begin, i64 n, std::byte* out) const override {
    const Place& p = places_[tensor];
    if (!p.scales) return files_->read_range(p.tensor, begin, n, out);
    for_boxes(tensors()[tensor].shape, begin, n, [&](const Shape& offset, const Shape& shape) {
      decode(p, offset, shape, reinterpret_cast<float*>(out));
      out += count(shape) * i64{sizeof(float)};
    });
  }

  void do_read_box(std::size_t tensor, const Shape& offset, const Shape& shape, std::byte* out) const override {
    const Place& p = places_[tensor];
    const DType type = tensors()[tensor].dtype;
    if (!p.scales)
      return files_->read_box_as(p.tensor, offset, shape, type, {out, std::size_t(count(shape) * size_of(type))});
    decode(p, offset, shape, reinterpret_cast<float*>(out));
  }

  void do_read_strip(std::size_t tensor, const Strip& strip, std::byte* out) const override {
    const Place& p = places_[tensor];
    if (p.scales) return TensorReader::do_read_strip(tensor, strip, out);
    files_->read_strip_as(p.tensor, strip, tensors()[tensor].dtype, out);
  }

  // Rows together of at most kPieceElements codes; a row alone may have more.
  void decode(const Place& p, const Shape& offset, const Shape& shape, float* out) const {
    if (count(shape) == 0) return;
    const i64 at_once = std::clamp<i64>(kPieceElements / shape[1], 1, shape[0]);
    for (i64 row = 0; row < shape[0]; row += at_once) {
      const i64 rows = std::min(at_once, shape[0] - row);
      decode_rows(p, {offset[0] + row, offset[1]}, {rows, shape[1]}, out + row * shape[1]);
    }
  }

  void decode_rows(const Place& p, const Shape& offset, const Shape& shape, float* out) const {
    const i64 rows = shape[0], columns = shape[1];
    std::vector<u8> codes(std::size_t(rows * columns));
    files_->read_box_as(p.tensor, offset, shape, DType::f8_e4m3, std::as_writable_bytes(std::span(codes)));
    const i64 first_row = offset[0] / blocks_.rows, first_column = offset[1] / blocks_.columns;
    const Shape blocks = {(offset[0] + rows - 1) / blocks_.rows - first_row + 1,
                          (offset[1] + columns - 1) / blocks_.columns - first_column + 1};
    std::vector<float> scales(std::size_t(count(blocks)));
    files_->read_box_as(*p.scales, {first_row, first_column}, blocks, DType::f32,
                        std::as_writable_bytes(std::span(scales)));
    for (i64 r = 0; r < rows; ++r) {
      const float* of_row = scales.data() + ((offset[0] + r) / blocks_.rows - first_row) * blocks[1];
      for (i64 c = 0; c < columns; ++c)
        out[r * columns + c] =
            values_[codes[std::size_t(r * columns + c)]] * of_row[(offset[1] + c) / blocks_.columns - first_column];
    }
  }

  std::shared_ptr<const TensorReader> files_;
  Fp8Blocks blocks_;
  std::array<float, 256> values_;
  std::vector<Place> places_;
};

}  // namespace

std::shared_ptr<const TensorReader> read_fp8_weights(std::shared_ptr<const TensorReader> files,
                                                     const Fp8Blocks& blocks) {
  return std::make_shared<Fp8Weights>(std::move(files), blocks);
}

}  // namespace megalith
