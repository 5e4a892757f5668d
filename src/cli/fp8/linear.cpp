#include "cli/fp8/linear.h"

#include "quant/cast.h"

namespace megalith::fp8 {
namespace {

Values read_values(VectorFile& file, const std::string& name, i64 multiple) {
  const Shape& shape = file.shape(name, 2);
  check(shape[0] % multiple == 0 && shape[1] % multiple == 0,
        "{}: tensor \"{}\" has shape {}: want multiples of {}, the recipe's block", file.path(), name, to_string(shape),
        multiple);
  return {file.read<bf16>(name, shape), shape[0], shape[1]};
}

template <class T>
std::vector<T> transposed_values(const std::vector<T>& values, i64 rows, i64 cols) {
  std::vector<T> out;
  out.reserve(values.size());
  for (i64 c = 0; c < cols; ++c)
    for (i64 r = 0; r < rows; ++r) out.push_back(values[size_t(r * cols + c)]);
  return out;
}

}  // namespace

Values Values::transposed() const { return {transposed_values(at, rows, cols), cols, rows}; }

Linear read_linear(VectorFile& file, i64 multiple) {
  Linear l = {read_values(file, "x", multiple), read_values(file, "w", multiple), read_values(file, "dy", multiple)};
  check(l.x.cols == l.w.cols && l.dy.rows == l.x.rows && l.dy.cols == l.w.rows,
        "{}: x [{}, {}], w [{}, {}] and dy [{}, {}] are not of one layer: want [tokens, in], [out, in], [tokens, out]",
        file.path(), l.x.rows, l.x.cols, l.w.rows, l.w.cols, l.dy.rows, l.dy.cols);
  return l;
}

quant::Operand Quantized::operand() const {
  quant::Operand o = {.values = {}, .rows = rows, .k = cols, .scale_inv = {}, .height = height, .width = width};
  for (const u8 code : codes) o.values.push_back(quant::decode(format, code));
  o.scale_inv.assign(scale_inv.begin(), scale_inv.end());
  return o;
}

Quantized Quantized::transposed() const {
  Quantized t = {format, std::vector<u8>(codes.size()), cols, rows, width, height, {}};
  quant::transpose({codes, rows, cols}, {t.codes, cols, rows});
  t.scale_inv = transposed_values(scale_inv, quant::blocks_of(rows, height), quant::blocks_of(cols, width));
  return t;
}

}  // namespace megalith::fp8
