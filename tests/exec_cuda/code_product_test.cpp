// Products of codes of fp8 on a GPU against f64 sums of what the codes stand for.
#include <limits>

#include "ops/quantize.h"
#include "quant/small_float.h"
#include "quant/tensor_core.h"
#include "tests/kernels/einsum_definition.h"

namespace megalith::kernel_tests {

namespace {

struct Coded {
  Tensor codes, scale_inv, values;
  double unit = 1;  // values / unit are those of codes, or have powers of two as scales
};

double value_of(CodeFormat format, u8 code) {
  return format == CodeFormat::e5m2 ? quant::E5M2::decode(code) : quant::E4M3::decode(code);
}

// Codes of normally distributed numbers, or of their magnitudes.
Coded coded(CodeFormat format, const Shape& shape, u64 seed, bool positive = false) {
  const float top = format == CodeFormat::e5m2 ? 57344 : 448, scale_inv = 6 / top;
  Coded c{{{dtype_of_codes(format), shape, whole(shape.size())}, {}},
          tensor(DType::f32, Shape(shape.size(), 1), {scale_inv}),
          {{DType::f64, shape, whole(shape.size())}, {}},
          double(scale_inv)};
  for (i64 i = 0; i < count(shape); ++i) {
    const float x = float(normal(mix_all(seed, i))) / scale_inv, v = positive ? std::abs(x) : x;
    const u8 code = format == CodeFormat::e5m2 ? quant::E5M2::encode(v) : quant::E4M3::encode(v);
    c.codes.x.push_back(code), c.values.x.push_back(value_of(format, code) * double(scale_inv));
  }
  return c;
}

struct Case {
  std::string spec;
  Shape x, w;
  DType to;
  int x_split = 0, w_split = 0;
  bool fast = false;
};

QuantizedProduct op_of(const Case& c, CodeFormat x, CodeFormat w) {
  const auto box = [](Shape shape, int split) {
    std::rotate(shape.begin(), shape.end() - split, shape.end());
    return shape;
  };
  QuantizedProduct op{c.spec, c.to, x, w, box(c.x, c.x_split), box(c.w, c.w_split)};
  op.x_split = c.x_split, op.w_split = c.w_split, op.fast = c.fast;
  return op;
}

// What tensor cores may lose of each sum (quant/tensor_core.h). Both operands have the `k` that are summed last.
std::vector<double> lost(const Coded& x, const Coded& w, i64 k, bool fast = false) {
  std::vector<double> out, products(static_cast<size_t>(k));
  const i64 part = fast ? k : 128;
  const auto codes = [k](const Coded& c, i64 row) {
    std::vector<double> of;  // exact: codes have few bits
    for (i64 i = 0; i < k; ++i) of.push_back(double(float(c.values.x[size_t(row * k + i)] / c.unit)));
    return of;
  };
  std::vector<std::vector<double>> columns;
  for (i64 n = 0; n < i64(w.values.x.size()) / k; ++n) columns.push_back(codes(w, n));
  for (i64 m = 0; m < i64(x.values.x.size()) / k; ++m) {
    const std::vector<double> row = codes(x, m);
    for (const std::vector<double>& column : columns) {
      for (size_t i = 0; i < products.size(); ++i) products[i] = row[i] * column[i];
      out.push_back(quant::lost_on_tensor_cores(products, part) * x.unit * w.unit);
    }
  }
  return out;
}

// Beside what is lost, f32 sums round by a unit in the last place for each term.
void expect_product(const Tensor& got, const Want& want, const std::vector<double>& acc,
                    const std::vector<double>& lost, const std::string& what) {
  ASSERT_EQ(got.x.size(), want.y.size()) << what;
  ASSERT_EQ(lost.size(), want.y.size()) << what;
  double squares = 0, bounds = 0;
  for (size_t i = 0; i < want.y.size(); ++i) {
    const double to = want.y[i] + (acc.empty() ? 0 : acc[i]), error = std::abs(got.x[i] - to);
    const double rounded = epsilon(got.type.dtype) * (std::abs(to) + std::abs(want.y[i])) * 1.01;
    const double limit = rounded + lost[i] + double(want.terms) * 0x1p-23 * want.size[i];
    ASSERT_LE(error, limit) << what << " at " << i << ": " << got.x[i] << ", not " << to << "; 2^"
                            << std::log2(error / want.size[i]) << " of the sum of absolute products " << want.size[i];
    squares += error * error, bounds += limit * limit;
  }
  EXPECT_LE(std::sqrt(squares / bounds), 0.5) << what << ": of the bounds, in the quadratic mean";
}

std::vector<Tensor> operands(const Coded& x, const Coded& w) { return {x.codes, x.scale_inv, w.codes, w.scale_inv}; }

}  // namespace

// The three products of a layer, with heads too, in each pair of formats.
TEST(CodeProduct, multiplies_what_codes_stand_for) {
  for (const Case& c : {Case{"sbh,fh->sbf", {48, 2, 192}, {160, 192}, DType::bf16},
                        Case{"sbh,fh->sbf", {48, 2, 192}, {160, 192}, DType::f32},
                        Case{"sbh,nfh->sbnf", {48, 2, 192}, {2, 80, 192}, DType::bf16, 0, 0, true},
                        Case{"sbnf,hnf->sbh", {48, 2, 2, 80}, {192, 2, 80}, DType::bf16, 0, 2},
                        Case{"nfsb,hsb->nfh", {2, 80, 48, 2}, {192, 48, 2}, DType::f32, 2, 2},
                        Case{"fsb,nhsb->fnh", {160, 48, 2}, {2, 96, 48, 2}, DType::bf16, 2, 2}})
    for (const CodeFormat format : {CodeFormat::e4m3, CodeFormat::e5m2}) {
      const Coded x = coded(format, c.x, 1), w = coded(CodeFormat::e4m3, c.w, 2);
      const std::string what = fmt::format("{} {} -> {}", name_of(format), c.spec, name_of(c.to));
      const Want want = naive(c.spec, x.values, w.values);
      QuantizedProduct op = op_of(c, format, CodeFormat::e4m3);
      const std::vector<double> error = lost(x, w, want.terms, c.fast);
      expect_product(run_kernel(op, operands(x, w), {.any_threads = false})[0], want, {}, error, what);
      op.accumulate = op.starts = true;
      std::vector<Tensor> added = operands(x, w);
      const AnyOp any(op_of(c, format, CodeFormat::e4m3));
      std::vector<Type> types;
      for (const Tensor& t : added) types.push_back(t.type);
      const Mesh one = make_mesh({});
      added.push_back(random_tensor(c.to, any.infer({one, types, std::vector<bool>(4, false)})[0].shape, 3));
      expect_product(run_kernel(op, added, {true, false})[0], want, {}, error, what + " starts");
      expect_product(run_kernel(op, added, {false, false})[0], want, added[4].x, error, what + " adds");
      op.accumulate = op.starts = false, op.plus = true;
      expect_product(run_kernel(op, added, {.any_threads = false})[0], want, added[4].x, error, what + " plus");
    }
}

// Sums of one sign show whether parts of the sum enter f32 on the way: without that the error grows with the sum.
TEST(CodeProduct, adds_up_long_sums_in_f32) {
  const Case c{"fsb,hsb->fh", {32, 2048, 2}, {48, 2048, 2}, DType::f32, 2, 2};
  const Coded x = coded(CodeFormat::e5m2, c.x, 4, true), w = coded(CodeFormat::e4m3, c.w, 5, true);
  const Want want = naive(c.spec, x.values, w.values);
  const QuantizedProduct op = op_of(c, CodeFormat::e5m2, CodeFormat::e4m3);
  expect_product(run_kernel(op, operands(x, w), {.any_threads = false})[0], want, {}, lost(x, w, want.terms), c.spec);
}

// What is not finite shows in the scale, and in all that is multiplied with it.
TEST(CodeProduct, gives_nan_by_a_scale_that_is_none) {
  const Case c{"sbh,fh->sbf", {16, 1, 64}, {32, 64}, DType::bf16};
  const Coded x = coded(CodeFormat::e4m3, c.x, 6);
  Coded w = coded(CodeFormat::e4m3, c.w, 7);
  w.scale_inv.x[0] = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Tensor> ins = operands(x, w);
  const std::vector<Tensor> got = run_kernel(op_of(c, CodeFormat::e4m3, CodeFormat::e4m3), ins, {.any_threads = false});
  for (const double y : got[0].x) EXPECT_TRUE(std::isnan(y));
}

namespace {

// Codes in boxes, each with a scale of its own: a power of two, of e2m1 any. `shape`: before the transpose by `split`.
// sequences: that the transpose has one after the other; 0: it has not.
Coded in_boxes(CodeFormat format, const Shape& shape, const Shape& box, int split, u64 seed, i64 sequences = 0) {
  Shape grid;
  for (size_t d = 0; d < shape.size(); ++d) grid.push_back((shape[d] + box[d] - 1) / box[d]);
  const bool narrow = format == CodeFormat::e2m1;
  Coded c{{{dtype_of_codes(format), shape, whole(shape.size())}, {}},
          random_tensor(DType::f32, grid, seed),
          {{DType::f64, shape, whole(shape.size())}, {}}};
  for (double& s : c.scale_inv.x) s = narrow ? s : std::ldexp(1.0, int(std::floor(s * 2)));
  const i64 rest = split ? count(shape) / count(Shape(shape.begin(), shape.begin() + split)) : 1;
  c.codes.x.resize(size_t(count(shape))), c.values.x.resize(size_t(count(shape)));
  for (i64 i = 0; i < count(shape); ++i) {
    i64 left = i, at = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0; left /= shape[d]) at += left % shape[d] / box[d] * stride, stride *= grid[d];
    const float v = 3 * float(normal(mix_all(seed + 1, i)));
    const u8 code = narrow ? quant::E2M1::encode(v) : quant::E4M3::encode(v);
    const double value = narrow ? quant::E2M1::decode(code) : value_of(format, code);
    const i64 rows = count(shape) / rest, row = i / rest;
    const i64 row_to = sequences > 0 ? row % sequences * (rows / sequences) + row / sequences : row;
    const size_t to = size_t(split ? i % rest * rows + row_to : i);
    c.codes.x[to] = code, c.values.x[to] = value * c.scale_inv.x[size_t(at)];
  }
  const Turn turn{split, sequences > 0};
  if (split) c.codes.type = turned(c.codes.type, turn), c.values.type = turned(c.values.type, turn);
  return c;
}

}  // namespace

// Blocks of 128 along the sum, and squares of weights: of a layer's three products, with heads and with scales that
// fill no four.
TEST(CodeProduct, multiplies_blocks_of_codes) {
  struct Blocks {
    Case c;
    Shape x, x_box, w, w_box;  // before the transposes
    bool by_sequence = false;
  };
  for (const Blocks& b :
       {Blocks{{"sbh,fh->sbf", {}, {}, DType::bf16}, {9, 2, 384}, {1, 1, 128}, {256, 384}, {128, 128}},
        Blocks{{"fbs,hbs->fh", {}, {}, DType::f32, 2, 2}, {256, 3, 96}, {128, 1, 1}, {256, 3, 48}, {128, 1, 1}, true},
        Blocks{{"sbh,nfh->sbnf", {}, {}, DType::bf16}, {9, 2, 256}, {1, 1, 128}, {4, 64, 256}, {2, 64, 128}},
        Blocks{{"sbnf,hnf->sbh", {}, {}, DType::bf16, 0, 2}, {10, 2, 4, 64}, {1, 1, 2, 64}, {4, 64, 384}, {2, 64, 128}},
        Blocks{{"fsb,hsb->fh", {}, {}, DType::f32, 2, 2}, {256, 1, 96}, {128, 1, 1}, {256, 1, 48}, {128, 1, 1}}}) {
    const auto sequences = [&](const Shape& shape) { return b.by_sequence ? shape[1] : 0; };
    const Coded x = in_boxes(CodeFormat::e4m3, b.x, b.x_box, b.c.x_split, 40, sequences(b.x)),
                w = in_boxes(CodeFormat::e4m3, b.w, b.w_box, b.c.w_split, 50, sequences(b.w));
    QuantizedProduct op{b.c.spec, b.c.to, CodeFormat::e4m3, CodeFormat::e4m3, b.x_box, b.w_box};
    op.x_split = b.c.x_split, op.w_split = b.c.w_split, op.by_sequence = b.by_sequence;
    const Want want = naive(b.c.spec, x.values, w.values);
    std::vector<Tensor> ins = operands(x, w);
    const Tensor y = run_kernel(op, ins, {.any_threads = false})[0];
    const std::vector<double> error = lost(x, w, want.terms);
    expect_product(y, want, {}, error, b.c.spec);
    ins.push_back(random_tensor(b.c.to, y.type.shape, 60));
    op.accumulate = op.starts = true;
    expect_product(run_kernel(op, ins, {false, false})[0], want, ins[4].x, error, b.c.spec + " adds");
  }
}

// With several scales an operand values are multiplied: those of fp8 are exact in bf16, those of fp4 in f32.
TEST(CodeProduct, decodes_what_has_many_scales) {
  struct Boxes {
    Case c;
    Shape x, x_box, w, w_box;  // before the transposes
  };
  for (const Boxes& b :
       {Boxes{{"sbh,nfh->sbnf", {}, {}, DType::bf16}, {9, 2, 192}, {1, 1, 128}, {2, 80, 192}, {1, 80, 128}},
        Boxes{{"fsb,hsb->fh", {}, {}, DType::f32, 2, 2}, {70, 2, 80}, {32, 1, 1}, {70, 2, 48}, {32, 1, 1}},
        Boxes{{"sbf,hf->sbh", {}, {}, DType::bf16, 0, 1}, {9, 2, 96}, {1, 1, 16}, {96, 40}, {16, 16}}})
    for (const CodeFormat format : {CodeFormat::e4m3, CodeFormat::e2m1}) {
      const Coded x = in_boxes(format, b.x, b.x_box, b.c.x_split, 10),
                  w = in_boxes(format, b.w, b.w_box, b.c.w_split, 20);
      QuantizedProduct op{b.c.spec, b.c.to, format, format, b.x_box, b.w_box};
      op.x_split = b.c.x_split, op.w_split = b.c.w_split;
      const Want want = naive(b.c.spec, x.values, w.values);
      std::vector<Tensor> ins = operands(x, w);
      const Tensor y = run_kernel(op, ins, {.any_threads = false})[0];
      expect_einsum(y, want, {}, b.c.spec);
      ins.push_back(random_tensor(b.c.to, y.type.shape, 30));
      op.accumulate = op.starts = true;
      expect_einsum(run_kernel(op, ins, {false, false})[0], want, ins[4].x, b.c.spec + " adds");
    }
}

// What no GPU multiplies is refused, with what to do.
TEST(CodeProduct, refuses_sizes_that_gpus_do_not_take) {
  const Case odd{"sbh,fh->sbf", {16, 1, 72}, {32, 72}, DType::bf16},
      as_is{"sbf,sbh->fh", {16, 2, 64}, {16, 2, 96}, DType::f32};
  for (const Case& c : {odd, as_is}) {
    const Coded x = coded(CodeFormat::e4m3, c.x, 8), w = coded(CodeFormat::e4m3, c.w, 9);
    try {
      run_kernel(op_of(c, CodeFormat::e4m3, CodeFormat::e4m3), operands(x, w));
      ADD_FAILURE() << c.spec;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("multiples of 16"), std::string::npos) << e.what();
    }
  }
}

}  // namespace megalith::kernel_tests
