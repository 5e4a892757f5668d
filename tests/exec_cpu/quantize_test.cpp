// Quantize, its helpers and QuantizedProduct against src/quant, which other programs' vectors hold, and f64 sums.
#include "ops/quantize.h"

#include <limits>

#include "quant/blocks.h"
#include "quant/cast.h"
#include "quant/mxfp8.h"
#include "quant/nvfp4.h"
#include "quant/scale.h"
#include "tests/kernels/einsum_definition.h"

namespace megalith::kernel_tests {

namespace {

using quant::Fp8;

constexpr i64 kRows = 24, kColumns = 160;

// Values over many binades, a block of zeros, tiny and huge ones.
Tensor values(DType dtype, const Shape& shape, u64 seed) {
  Tensor t = random_tensor(dtype, shape, seed);
  const i64 width = shape.back();
  for (size_t i = 0; i < t.x.size(); ++i) {
    const i64 row = i64(i) / width;
    t.x[i] *= row == 2 ? 0 : row == 3 ? 1e-41 : row == 4 ? 1e37 : std::ldexp(1.0, int(row % 7) - 3);
  }
  return tensor(dtype, shape, t.x);
}

template <class T>
std::vector<T> typed(const Tensor& t) {
  std::vector<T> out;
  for (const double v : t.x) out.push_back(T(float(v)));
  return out;
}

struct Quantized {
  std::vector<u8> codes;
  std::vector<float> scale_inv;
};

Quantized by_op(const Quantize& op, const std::vector<Tensor>& ins) {
  const std::vector<Tensor> out = run_kernel(op, ins);
  Quantized q;
  for (const double c : out[0].x) q.codes.push_back(u8(c));
  for (const double s : out[1].x) q.scale_inv.push_back(float(s));
  return q;
}

Quantized made_by(i64 rows, i64 columns, i64 height, i64 width, auto&& quantize) {
  Quantized q{std::vector<u8>(size_t(rows * columns)), {}};
  const i64 down = quant::blocks_of(rows, height), across = quant::blocks_of(columns, width);
  q.scale_inv.resize(size_t(down * across));
  quantize(quant::Out<u8>{q.codes, rows, columns}, quant::Out<float>{q.scale_inv, down, across});
  return q;
}

void expect_same(const Quantized& got, const Quantized& want, const std::string& what) {
  EXPECT_EQ(got.codes, want.codes) << what;
  EXPECT_EQ(got.scale_inv, want.scale_inv) << what;
}

// [rows, cols] -> [cols, rows]
Tensor turned(const Tensor& t) {
  const i64 rows = t.type.dim(0), columns = t.type.dim(1);
  Tensor out{{t.type.dtype, {columns, rows}, whole(2)}, std::vector<double>(t.x.size())};
  for (i64 r = 0; r < rows; ++r)
    for (i64 c = 0; c < columns; ++c) out.x[size_t(c * rows + r)] = t.x[size_t(r * columns + c)];
  return out;
}

CodeFormat code_format(Fp8 f) { return f == Fp8::e4m3 ? CodeFormat::e4m3 : CodeFormat::e5m2; }

template <class T>
void check_blocks(DType dtype, Fp8 format) {
  const Tensor x = values(dtype, {kRows, kColumns}, 1), w = values(dtype, {200, kColumns}, 2);
  const std::vector<T> xs = typed<T>(x), ws = typed<T>(w);
  const quant::BlockRule rule{format};
  const std::string what = fmt::format("{} {}", name_of(dtype), name_of(code_format(format)));
  const Quantize op{code_format(format), Scaling::power_of_two, {1, 128}};
  const Quantized rows = made_by(kRows, kColumns, 1, 128, [&](auto codes, auto scales) {
    quant::quantize_rows<T>(rule, {xs, kRows, kColumns}, codes, scales);
  });
  expect_same(by_op(op, {x}), rows, what + " rows");
  Quantize squares = op;
  squares.box = {128, 128};
  expect_same(by_op(squares, {w}),
              made_by(200, kColumns, 128, 128,
                      [&](auto codes, auto scales) {
                        quant::quantize_squares<T>(rule, {ws, 200, kColumns}, codes, scales);
                      }),
              what + " squares");
}

}  // namespace

TEST(Quantize, blocks_are_those_of_the_recipe) {
  for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
    check_blocks<float>(DType::f32, format);
    check_blocks<bf16>(DType::bf16, format);
  }
}

TEST(Quantize, mx_blocks_are_those_of_the_recipe) {
  const Tensor x = values(DType::bf16, {kRows, kColumns}, 3);
  const std::vector<bf16> xs = typed<bf16>(x);
  std::vector<u8> codes(xs.size()), scales(size_t(kRows * kColumns / 32));
  quant::quantize_mx<bf16>(Fp8::e4m3, {xs, kRows, kColumns}, {codes, kRows, kColumns}, {scales, kRows, kColumns / 32});
  const Quantized got = by_op({CodeFormat::e4m3, Scaling::mx, {1, 32}}, {x});
  EXPECT_EQ(got.codes, codes);
  for (size_t i = 0; i < scales.size(); ++i) EXPECT_EQ(got.scale_inv[i], quant::E8M0::decode(scales[i]));
}

TEST(Quantize, nv_blocks_are_those_of_the_recipe) {
  Tensor x = random_tensor(DType::bf16, {kRows * 2, kColumns}, 4);
  for (size_t i = 0; i < 40; ++i) x.x[i] = 0;
  const std::vector<bf16> xs = typed<bf16>(x);
  const i64 rows = kRows * 2;
  for (const bool squares : {false, true}) {
    const Tensor amax = run_kernel(Amax{{rows, kColumns}}, {x})[0];
    EXPECT_EQ(amax.x.at(0), quant::amax_of<bf16>(xs));
    std::vector<u8> codes(xs.size() / 2), scales(size_t(rows * kColumns / 16));
    quant::quantize_nv<bf16>(squares ? quant::NvBlocks::squares : quant::NvBlocks::rows, {xs, rows, kColumns},
                             float(amax.x[0]), {codes, rows, kColumns / 2}, {scales, rows, kColumns / 16});
    const Quantized got = by_op({CodeFormat::e2m1, Scaling::nv, {squares ? 16 : 1, 16}}, {x, amax});
    for (size_t i = 0; i < got.codes.size(); ++i) ASSERT_EQ(got.codes[i], codes[i / 2] >> (i % 2 * 4) & 0xf) << i;
    const float inverse = quant::inverse(quant::nv_factor(float(amax.x[0])));
    const size_t across = size_t(kColumns / 16);
    for (size_t i = 0; i < got.scale_inv.size(); ++i) {
      const size_t row = i / across * (squares ? 16 : 1);
      EXPECT_EQ(got.scale_inv[i], quant::E4M3::decode(scales[row * across + i % across]) * inverse);
    }
  }
}

TEST(Quantize, one_scale_a_tensor_is_that_of_its_amax) {
  for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
    const Tensor x = random_tensor(DType::bf16, {7, 3, 50}, 5);
    const std::vector<bf16> xs = typed<bf16>(x);
    const Tensor amax = run_kernel(Amax{x.type.shape}, {x})[0];
    const float scale = quant::current_scale(quant::amax_of<bf16>(xs), quant::largest_of(format));
    std::vector<u8> codes(xs.size());
    quant::cast<bf16>(format, xs, scale, codes);
    const Quantize op{code_format(format), Scaling::quotient, x.type.shape};
    expect_same(by_op(op, {x, amax}), {codes, {quant::inverse(scale)}}, "quotient");
    Quantize kept = op;
    kept.scaling = Scaling::kept, kept.at = 1;
    const Tensor fresh = tensor(DType::f32, {3}, {5, 0, 5}), state = tensor(DType::f32, {3}, {5, 24, 5});
    expect_same(by_op(kept, {x, amax, fresh}), {codes, {quant::inverse(scale)}}, "without a history");
    quant::cast<bf16>(format, xs, 24, codes);
    expect_same(by_op(kept, {x, amax, state}), {codes, {quant::inverse(24)}}, "with one");
  }
}

// Blocks along tokens are blocks along rows of the transpose; those of heads run on from one head to the next.
TEST(Quantize, boxes_run_along_any_dims) {
  const Tensor x = random_tensor(DType::bf16, {kColumns, 40}, 6);
  const Quantize along{CodeFormat::e4m3, Scaling::power_of_two, {128, 1}};
  const Quantized got = by_op(along, {x}), want = by_op({along.format, along.scaling, {1, 128}}, {turned(x)});
  for (i64 t = 0; t < kColumns; ++t)
    for (i64 c = 0; c < 40; ++c) EXPECT_EQ(got.codes[size_t(t * 40 + c)], want.codes[size_t(c * kColumns + t)]);
  for (size_t c = 0; c < 40; ++c)
    for (size_t k = 0; k < 2; ++k) EXPECT_EQ(got.scale_inv[k * 40 + c], want.scale_inv[c * 2 + k]);

  const Tensor flat = random_tensor(DType::bf16, {3, 384}, 7);
  const Tensor heads{{DType::bf16, {3, 6, 1, 64}, whole(4)}, flat.x};
  const Shape box = row_box(heads.type.shape, {1, 2, 3}, 128);
  EXPECT_EQ(box, (Shape{1, 2, 1, 64}));
  expect_same(by_op({along.format, along.scaling, box}, {heads}),
              by_op({along.format, along.scaling, {1, 128}}, {flat}), "heads");
}

// A transpose has the bytes of the codes, whether they are asked for as well or not.
TEST(Quantize, gives_the_transpose_too) {
  const Tensor x = random_tensor(DType::bf16, {70, 3, 130}, 20), amax = run_kernel(Amax{x.type.shape}, {x})[0];
  for (const Scaling scaling : {Scaling::quotient, Scaling::power_of_two})
    for (const int split : {1, 2}) {
      const bool of_tensor = scaling == Scaling::quotient;
      Quantize op{CodeFormat::e5m2, scaling, of_tensor ? x.type.shape : Shape{1, 1, 128}};
      std::vector<Tensor> ins = {x};
      if (of_tensor) ins.push_back(amax);
      const std::vector<Tensor> as_is = run_kernel(op, ins);
      op.orders = CodeOrders::both, op.split = split;
      const std::vector<Tensor> both = run_kernel(op, ins);
      op.orders = CodeOrders::transposed;
      const std::vector<Tensor> alone = run_kernel(op, ins);
      const i64 rows = split == 1 ? 70 : 210, columns = i64(x.x.size()) / rows;
      const Tensor want = turned({{DType::u8, {rows, columns}, whole(2)}, as_is[0].x});
      EXPECT_EQ(alone[0].type.shape, split == 1 ? (Shape{3, 130, 70}) : (Shape{130, 70, 3}));
      EXPECT_EQ(both[2].type, alone[0].type);
      EXPECT_EQ(both[0].x, as_is[0].x);
      EXPECT_EQ(both[2].x, want.x);
      EXPECT_EQ(alone[0].x, want.x);
      EXPECT_EQ(both[1].x, as_is[1].x);
      EXPECT_EQ(alone[1].x, as_is[1].x);
    }
}

// With the tokens of a sequence as neighbours: [s, b, ..] becomes [.., b, s].
TEST(Quantize, gives_the_transpose_by_sequence) {
  constexpr i64 kTokens = 70, kSequences = 3, kWidth = 2 * 20;
  const Tensor x = random_tensor(DType::bf16, {kTokens, kSequences, 2, 20}, 21);
  Quantize op{CodeFormat::e4m3, Scaling::power_of_two, {32, 1, 1, 1}};
  const std::vector<Tensor> as_is = run_kernel(op, {x});
  op.split = 2, op.by_sequence = true;
  for (const CodeOrders orders : {CodeOrders::transposed, CodeOrders::both}) {
    op.orders = orders;
    const std::vector<Tensor> got = run_kernel(op, {x});
    const Tensor& turned = got[orders == CodeOrders::both ? 2 : 0];
    EXPECT_EQ(turned.type.shape, (Shape{2, 20, kSequences, kTokens}));
    EXPECT_EQ(got[1].x, as_is[1].x);
    for (i64 s = 0; s < kTokens; ++s)
      for (i64 b = 0; b < kSequences; ++b)
        for (i64 c = 0; c < kWidth; ++c)
          ASSERT_EQ(turned.x[size_t((c * kSequences + b) * kTokens + s)],
                    as_is[0].x[size_t((s * kSequences + b) * kWidth + c)]);
    if (orders == CodeOrders::both) EXPECT_EQ(got[0].x, as_is[0].x);
  }
  op.scaling = Scaling::mx;  // of the other recipes none has such
  EXPECT_THROW(run_kernel(op, {x}), Error);
}

// The cast by a scale that is kept gives the amax of what it reads: that of Amax, and the same codes and scale.
TEST(Quantize, gives_its_amax) {
  Tensor x = random_tensor(DType::bf16, {70, 3, 130}, 22);
  for (const double last : {0.5, -9.0, double(INFINITY), double(NAN)})
    for (const double scale : {0.0, 24.0}) {
      x.x.back() = last;
      const Tensor state = tensor(DType::f32, {3}, {5, scale, 5}), amax = run_kernel(Amax{x.type.shape}, {x})[0];
      Quantize op{CodeFormat::e4m3, Scaling::kept, x.type.shape, 1};
      op.split = 2;
      for (const CodeOrders orders : {CodeOrders::as_is, CodeOrders::transposed, CodeOrders::both}) {
        op.orders = orders, op.split = orders == CodeOrders::as_is ? 0 : 2, op.gives_amax = false;
        const std::vector<Tensor> want = run_kernel(op, {x, amax, state});
        op.gives_amax = true;
        const std::vector<Tensor> got = run_kernel(op, {x, state});
        EXPECT_EQ(got[2].x, amax.x);
        EXPECT_EQ(got[0].x, want[0].x);
        EXPECT_EQ(got.back().x, orders == CodeOrders::both ? want.back().x : amax.x);
        EXPECT_EQ(std::isnan(got[1].x[0]), !std::isfinite(last));
        if (std::isfinite(last)) EXPECT_EQ(got[1].x, want[1].x);
      }
    }
}

// A code hides an infinity; its scale tells it, and a product with it is NaN.
TEST(Quantize, what_is_not_finite_shows_in_the_scale) {
  for (const double bad : {double(INFINITY), -double(INFINITY), double(NAN)}) {
    Tensor x = random_tensor(DType::bf16, {4, 256}, 8);
    x.x[300] = bad;
    for (const Scaling scaling : {Scaling::power_of_two, Scaling::mx}) {
      const Quantized got = by_op({CodeFormat::e4m3, scaling, {1, 128}}, {x});
      for (size_t i = 0; i < got.scale_inv.size(); ++i) EXPECT_EQ(std::isnan(got.scale_inv[i]), i == 2) << i;
    }
    const Tensor amax = run_kernel(Amax{{4, 256}}, {x})[0];
    EXPECT_TRUE(std::isinf(amax.x[0]));
    EXPECT_TRUE(std::isnan(by_op({CodeFormat::e5m2, Scaling::quotient, {4, 256}}, {x, amax}).scale_inv[0]));
    EXPECT_TRUE(std::isnan(by_op({CodeFormat::e2m1, Scaling::nv, {1, 16}}, {x, amax}).scale_inv[0]));
  }
}

// Each value becomes one of its neighbours, with the mean where it was.
TEST(Quantize, stochastic_rounding_keeps_the_mean) {
  constexpr i64 kTokens = 64, kSamples = 64;
  Tensor x = tensor(DType::bf16, {kTokens, kSamples, 16}, std::vector<double>(size_t(kTokens * kSamples * 16), 1.25));
  for (size_t i = 0; i < x.x.size(); i += 16) x.x[i] = 6;
  std::vector<double> numbers;
  for (i64 i = 0; i < kSamples; ++i) numbers.push_back(double(100 + i));
  const Tensor rows = tensor(DType::i64, {kSamples}, numbers), amax = run_kernel(Amax{x.type.shape}, {x})[0];
  const Quantize op{CodeFormat::e2m1, Scaling::nv, {1, 1, 16}, 0, true, 7};
  const Quantized got = by_op(op, {x, amax, rows});
  double sum = 0;
  i64 n = 0;
  for (size_t i = 0; i < got.codes.size(); ++i) {
    if (i % 16 == 0) continue;
    const double v = double(quant::E2M1::decode(got.codes[i])) * got.scale_inv[i / 16];
    EXPECT_TRUE(std::abs(v - 1) < 1e-6 || std::abs(v - 1.5) < 1e-6) << v;
    sum += v, ++n;
  }
  EXPECT_NEAR(sum / double(n), 1.25, 4 * 0.25 / std::sqrt(double(n)));  // four standard deviations
}

TEST(RotateTokens, is_that_of_the_recipe) {
  const Tensor x = random_tensor(DType::bf16, {32, 3, 5}, 9);
  const std::vector<bf16> xs = typed<bf16>(x);
  std::vector<bf16> want(xs.size());
  quant::rotate_tokens({xs, 32, 15}, {want, 15, 32});
  const Tensor got = run_kernel(RotateTokens{}, {x})[0];
  for (size_t t = 0; t < 32; ++t)
    for (size_t c = 0; c < 15; ++c) EXPECT_EQ(got.x[t * 15 + c], double(float(want[c * 32 + t])));
}

namespace {

struct Operand {
  Tensor values;
  Quantize op;
};

// codes, scale_inv and, of those, the values that they stand for.
struct Decoded {
  Tensor codes, scale_inv, values;
};
Decoded decoded(const Operand& o) {
  const std::vector<Tensor> out = run_kernel(o.op, {o.values});
  Decoded d{out[0], out[1], {{DType::f64, o.values.type.shape, o.values.type.layout}, {}}};
  const Shape& shape = o.values.type.shape;
  for (size_t i = 0; i < out[0].x.size(); ++i) {
    i64 rest = i64(i), at = 0, stride = 1;
    for (size_t k = shape.size(); k-- > 0; rest /= shape[k]) {
      at += rest % shape[k] / o.op.box[k] * stride;
      stride *= out[1].type.shape[k];
    }
    const u8 code = u8(out[0].x[i]);
    const double value = o.op.format == CodeFormat::e5m2 ? quant::E5M2::decode(code) : quant::E4M3::decode(code);
    d.values.x.push_back(value * out[1].x[size_t(at)]);
  }
  return d;
}

}  // namespace

// Operands that are transposed by sequence give the bits of those that are not.
TEST(QuantizedProduct, reads_transposes_by_sequence) {
  Operand dy{random_tensor(DType::bf16, {64, 3, 2, 8}, 14), {CodeFormat::e5m2, Scaling::power_of_two, {32, 1, 1, 1}}},
      x{random_tensor(DType::bf16, {64, 3, 24}, 15), {CodeFormat::e4m3, Scaling::power_of_two, {32, 1, 1}}};
  QuantizedProduct op{"sbnf,sbh->nfh", DType::f32, dy.op.format, x.op.format, dy.op.box, x.op.box};
  std::vector<Tensor> ins, turned;
  for (Operand* o : {&dy, &x}) {
    for (const Tensor& t : run_kernel(o->op, {o->values})) ins.push_back(t);
    o->op.orders = CodeOrders::transposed, o->op.split = 2, o->op.by_sequence = true;
    for (const Tensor& t : run_kernel(o->op, {o->values})) turned.push_back(t);
  }
  const Tensor want = run_kernel(op, ins, {.any_threads = false})[0];
  op.spec = "nfbs,hbs->nfh", op.x_split = op.w_split = 2, op.by_sequence = true;
  EXPECT_EQ(run_kernel(op, turned, {.any_threads = false})[0].x, want.x);
}

// Of the three products of a layer, against f64 sums of what the codes stand for.
TEST(QuantizedProduct, multiplies_what_codes_stand_for) {
  const Quantize rows{CodeFormat::e4m3, Scaling::power_of_two, {1, 1, 128}};
  const Tensor x = random_tensor(DType::bf16, {9, 2, 192}, 10), dy = random_tensor(DType::bf16, {9, 2, 2, 80}, 11),
               w = random_tensor(DType::bf16, {2, 80, 192}, 12);
  Quantize square = rows, gradient = rows, tokens = rows, wide = rows;
  square.box = {1, 128, 128}, gradient.box = {1, 1, 1, 80}, gradient.format = CodeFormat::e5m2;
  tokens.box = {128, 1, 1}, wide.box = {128, 1, 1, 1}, wide.format = CodeFormat::e5m2;
  struct Case {
    std::string spec;
    Operand a, b;
    DType to;
    Shape shape;  // of the result
  };
  for (const Case& c : {Case{"sbh,nfh->sbnf", {x, rows}, {w, square}, DType::bf16, {9, 2, 2, 80}},
                        Case{"sbnf,nfh->sbh", {dy, gradient}, {w, square}, DType::bf16, {9, 2, 192}},
                        Case{"sbnf,sbh->nfh", {dy, wide}, {x, tokens}, DType::f32, {2, 80, 192}}}) {
    const Decoded a = decoded(c.a), b = decoded(c.b);
    QuantizedProduct op{c.spec, c.to, c.a.op.format, c.b.op.format, c.a.op.box, c.b.op.box};
    const std::vector<Tensor> ins = {a.codes, a.scale_inv, b.codes, b.scale_inv};
    const Want want = naive(c.spec, a.values, b.values);
    expect_einsum(run_kernel(op, ins, {.any_threads = false})[0], want, {}, c.spec);
    op.accumulate = op.starts = true;
    std::vector<Tensor> added = ins;
    added.push_back(random_tensor(c.to, c.shape, 13));
    expect_einsum(run_kernel(op, added, {true, false})[0], want, {}, c.spec + " starts");
    expect_einsum(run_kernel(op, added, {false, false})[0], want, added[4].x, c.spec + " adds");
    op.accumulate = op.starts = false, op.plus = true;
    expect_einsum(run_kernel(op, added, {.any_threads = false})[0], want, added[4].x, c.spec + " plus");
  }
}

}  // namespace megalith::kernel_tests
