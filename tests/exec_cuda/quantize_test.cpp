// Codes, scales and amax on the GPU are those of the CPU's kernels, byte for byte.
#include "ops/quantize.h"

#include <limits>

#include "exec/cpu/kernel.h"
#include "ops/cast_counts.h"
#include "ops/delayed_scale.h"
#include "ops/shard_codes.h"
#include "quant/small_float.h"
#include "tests/kernels/kernel_run.h"

namespace megalith::kernel_tests {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<Type> types_of(const std::vector<Tensor>& tensors) {
  std::vector<Type> out;
  for (const Tensor& t : tensors) out.push_back(t.type);
  return out;
}

// The same op by the CPU's kernel. It changes no input but what it must.
template <class T>
std::vector<Tensor> on_cpu(const T& of, const std::vector<Tensor>& ins, bool first_micro_batch = false) {
  const AnyOp op(of);
  const Mesh mesh = make_mesh({});
  const std::vector<Type> types = types_of(ins),
                          results = op.infer({mesh, types, std::vector<bool>(ins.size(), false)});
  const cpu::Kernel kernel = cpu::prepare_any(op, cpu::KernelContext{mesh, {}, types, results, {}, {}});
  std::vector<Watched> in, out;
  for (const Tensor& t : ins) in.emplace_back(t);
  for (const Type& t : results) out.emplace_back(t.bytes(), 0xFF);
  std::vector<std::byte*> in_at, out_at;
  for (Watched& w : in) in_at.push_back(w.data());
  for (Watched& w : out) out_at.push_back(w.data());
  for (const Alias& a : op.aliases())
    if (a.must) out_at[size_t(a.out)] = in_at[size_t(a.in)];
  Watched workspace(kernel.workspace, 0xFF);
  kernel.run({in_at, out_at, workspace.data(), first_micro_batch});
  std::vector<Tensor> got;
  for (size_t i = 0; i < out.size(); ++i) got.push_back(out[i].tensor(results[i]));
  for (const Alias& a : op.aliases())
    if (a.must) got[size_t(a.out)] = in[size_t(a.in)].tensor(results[size_t(a.out)]);
  return got;
}

// Any NaN is as good as another.
template <class T>
std::vector<Tensor> expect_same(const T& op, const std::vector<Tensor>& ins, const std::string& what,
                                bool first_micro_batch = false) {
  const std::vector<Tensor> want = on_cpu(op, ins, first_micro_batch),
                            got = run_kernel(op, ins, {.first_micro_batch = first_micro_batch, .any_threads = false});
  EXPECT_EQ(got.size(), want.size());
  for (size_t r = 0; r < want.size(); ++r) {
    EXPECT_EQ(got[r].x.size(), want[r].x.size());
    i64 wrong = 0;
    for (size_t i = 0; i < want[r].x.size(); ++i) {
      const bool nan = std::isnan(want[r].x[i]) && std::isnan(got[r].x[i]);
      if (nan || std::bit_cast<u64>(got[r].x[i]) == std::bit_cast<u64>(want[r].x[i])) continue;
      if (wrong++ == 0)
        ADD_FAILURE() << what << " result " << r << " at " << i << ": " << got[r].x[i] << ", not " << want[r].x[i];
    }
    EXPECT_EQ(wrong, 0) << what << ", result " << r << " of " << want[r].x.size() << " numbers";
  }
  return got;
}

// The same with counts of what is lost.
std::vector<Tensor> expect_same_with_counts(Quantize op, const std::vector<Tensor>& ins, const std::string& what) {
  op.counts = true;
  return expect_same(op, ins, what + ", with counts");
}

// Values over many binades, zeros, subnormals, huge ones.
Tensor values(DType dtype, const Shape& shape, u64 seed) {
  Tensor t = random_tensor(dtype, shape, seed);
  for (size_t i = 0; i < t.x.size(); ++i) {
    const u64 kind = mix_all(seed, 77, i / 16) % 40;
    t.x[i] *= kind == 0 ? 0 : kind == 1 ? 1e-41 : kind == 2 ? 1e37 : std::ldexp(1.0, int(kind) % 13 - 6);
    if (kind == 3 && i % 2) t.x[i] = -0.0;
  }
  return tensor(dtype, shape, t.x);
}

std::string described(const Quantize& op, const Tensor& x) {
  return fmt::format("{} {} to {} by {}, box {}, {}", name_of(x.type.dtype), to_string(x.type.shape),
                     name_of(op.format), name_of(op.scaling), to_string(op.box), name_of(op.orders));
}

Tensor number(const Shape& like, double x) { return tensor(DType::f32, Shape(like.size(), 1), {x}); }

void check_orders(Quantize op, const std::vector<Tensor>& ins) {
  for (const CodeOrders orders : {CodeOrders::as_is, CodeOrders::transposed, CodeOrders::both})
    for (int split = 1; split < ins[0].type.ndim(); ++split) {
      op.orders = orders, op.split = orders == CodeOrders::as_is ? 0 : split;
      expect_same(op, ins, described(op, ins[0]));
      expect_same_with_counts(op, ins, described(op, ins[0]));
      if (orders == CodeOrders::as_is) break;
    }
}

constexpr DType kTypes[] = {DType::bf16, DType::f32, DType::f64};

}  // namespace

TEST(QuantizeOnGpu, amax_is_the_cpus) {
  for (const DType dtype : kTypes)
    for (const i64 n : {1, 7, 8, 4099, 70001}) {
      Tensor x = values(dtype, {n, 3}, u64(n));
      const std::string what = fmt::format("amax of {} {}", n * 3, name_of(dtype));
      expect_same(Amax{{n, 3}}, {x}, what);
      for (const double bad : {kInf, -kInf, kNaN, -kNaN}) {
        Tensor y = x;
        y.x[size_t(n * 3 - 1)] = bad;
        EXPECT_EQ(expect_same(Amax{{n, 3}}, {y}, what)[0].x[0], kInf);
      }
    }
  expect_same(Amax{{5, 2}}, {tensor(DType::bf16, {5, 2}, std::vector<double>(10, -0.0))}, "amax of zeros");
  expect_same(Amax{{2, 1}}, {tensor(DType::f32, {2, 1}, {1e-45, -1e-41})}, "amax of subnormals");
}

TEST(QuantizeOnGpu, one_scale_a_tensor_is_the_cpus) {
  const std::vector<Shape> shapes = {{1, 1}, {7, 5}, {16, 8}, {48, 3, 40}, {33, 1, 64}, {128, 128}, {144, 2, 136}};
  for (const DType dtype : kTypes)
    for (const CodeFormat format : {CodeFormat::e4m3, CodeFormat::e5m2})
      for (const Shape& shape : shapes) {
        const Tensor x = values(dtype, shape, 3);
        Quantize op{.format = format, .box = shape};
        for (const double amax : {5.5, 0.0, 1e-42, 3e38, kInf})
          if (dtype == DType::bf16 || amax == 5.5) check_orders(op, {x, number(shape, amax)});
        op.scaling = Scaling::kept, op.at = 1;
        const Tensor state = tensor(DType::f32, {3}, {5, 24, 5}), fresh = tensor(DType::f32, {3}, {5, 0, 5});
        check_orders(op, {x, number(shape, 3.25), state});
        check_orders(op, {x, number(shape, 3.25), fresh});
        check_orders(op, {x, number(shape, kInf), state});
      }
}

// The amax of a cast covers all values that it read. A value that is not finite shows in the scale.
TEST(QuantizeOnGpu, a_cast_gives_the_amax_of_the_cpu) {
  const auto cast = [](const Shape& shape, CodeFormat format) {
    Quantize op{.format = format, .scaling = Scaling::kept, .box = shape, .at = 1};
    op.gives_amax = true;
    return op;
  };
  const std::vector<Shape> shapes = {{1, 1}, {7, 5}, {16, 8}, {48, 3, 40}, {144, 2, 136}};
  for (const DType dtype : kTypes)
    for (const Shape& shape : shapes)
      for (const double scale : {0.0, 24.0}) {
        Tensor x = values(dtype, shape, 3);
        const Tensor state = tensor(DType::f32, {3}, {5, scale, 5});
        for (const CodeFormat format : {CodeFormat::e4m3, CodeFormat::e5m2})
          check_orders(cast(shape, format), {x, state});
        Quantize op = cast(shape, CodeFormat::e4m3);
        op.orders = CodeOrders::both, op.split = 1;
        const std::string what = described(op, x);
        expect_same(op, {tensor(dtype, shape, std::vector<double>(x.x.size(), -0.0)), state}, what + " of zeros");
        for (const double bad : {kInf, -kInf, kNaN}) {
          x.x[x.x.size() * 2 / 3] = bad;
          expect_same(op, {x, state}, what + " of what is not finite");
        }
      }
  // More tiles than blocks that run at once.
  const Shape large = {512, 1, 1032};
  Quantize op = cast(large, CodeFormat::e4m3);
  op.orders = CodeOrders::both, op.split = 2;
  for (const double scale : {0.0, 24.0})
    expect_same(op, {values(DType::bf16, large, 3), tensor(DType::f32, {3}, {5, scale, 5})}, "many tiles");
}

// Blocks of tokens of several sequences.
TEST(QuantizeOnGpu, transposes_by_sequence_are_the_cpus) {
  const std::vector<Shape> shapes = {{256, 2, 136}, {128, 3, 2, 64}, {160, 2, 24},
                                     {384, 1, 64},  {96, 4, 8},      {70, 3, 20}};
  for (const DType dtype : kTypes)
    for (const CodeFormat format : {CodeFormat::e4m3, CodeFormat::e5m2})
      for (const Shape& shape : shapes)
        for (const i64 tokens : {128, 32}) {
          Shape box(shape.size(), 1);
          box[0] = tokens;
          Quantize op{.format = format, .scaling = Scaling::power_of_two, .box = box};
          op.split = 2, op.by_sequence = true;
          Tensor x = values(dtype, shape, 8);
          x.x[x.x.size() / 2] = kNaN;
          for (const CodeOrders orders : {CodeOrders::transposed, CodeOrders::both}) {
            op.orders = orders;
            expect_same(op, {x}, described(op, x) + " by sequence");
          }
        }
}

// Every bf16, and values around each place where a code changes.
TEST(QuantizeOnGpu, every_value_has_the_cpus_code) {
  std::vector<double> all;
  for (u32 bits = 0; bits < 65536; ++bits) all.push_back(double(std::bit_cast<float>(bits << 16)));
  std::vector<double> near;
  for (u32 code = 0; code < 256; ++code)
    for (const float at : {quant::E4M3::decode(code), quant::E5M2::decode(code)})
      for (const double part : {1.0, 1.0625, 1.125, 1.25, 1.5})
        for (const i32 off : {-1, 0, 1})
          near.push_back(double(std::bit_cast<float>(std::bit_cast<u32>(float(at * part)) + u32(off))));
  near.resize(near.size() / 128 * 128);
  for (const CodeFormat format : {CodeFormat::e4m3, CodeFormat::e5m2})
    for (const double amax : {448.0, 57344.0, 100.0}) {
      const Shape halves = {256, 256}, floats = {i64(near.size()) / 128, 128};
      check_orders({.format = format, .box = halves}, {tensor(DType::bf16, halves, all), number(halves, amax)});
      check_orders({.format = format, .box = floats}, {tensor(DType::f32, floats, near), number(floats, amax)});
    }
}

TEST(QuantizeOnGpu, scales_of_boxes_are_the_cpus) {
  struct Boxes {
    Shape shape, box;
    Scaling scaling;
  };
  const std::vector<Boxes> cases = {{{24, 160}, {1, 128}, Scaling::power_of_two},
                                    {{200, 160}, {128, 128}, Scaling::power_of_two},
                                    {{160, 2, 24}, {128, 1, 1}, Scaling::power_of_two},
                                    {{16, 3, 6, 1, 64}, {1, 1, 2, 1, 64}, Scaling::power_of_two},
                                    {{2, 80, 192}, {1, 80, 128}, Scaling::power_of_two},
                                    {{144, 3, 2, 128}, {128, 1, 1, 128}, Scaling::power_of_two},
                                    {{144, 2, 2, 64}, {128, 1, 2, 64}, Scaling::power_of_two},
                                    {{13, 77}, {1, 128}, Scaling::power_of_two},
                                    {{32, 2, 64}, {1, 1, 32}, Scaling::mx},
                                    {{64, 2, 16}, {32, 1, 1}, Scaling::mx}};
  for (const DType dtype : kTypes)
    for (const CodeFormat format : {CodeFormat::e4m3, CodeFormat::e5m2})
      for (const Boxes& c : cases) {
        Tensor x = values(dtype, c.shape, 5);
        check_orders({.format = format, .scaling = c.scaling, .box = c.box}, {x});
        x.x[x.x.size() / 2] = kNaN, x.x[x.x.size() / 3] = -kInf;
        check_orders({.format = format, .scaling = c.scaling, .box = c.box}, {x});
      }
}

TEST(QuantizeOnGpu, fp4_is_the_cpus) {
  for (const DType dtype : kTypes)
    for (const Shape& box : {Shape{1, 1, 16}, Shape{16, 1, 1}, Shape{16, 1, 16}}) {
      const Tensor x = values(dtype, {32, 3, 48}, 6), rows = tensor(DType::i64, {3}, {1000, 7, 123456789});
      Quantize op{.format = CodeFormat::e2m1, .scaling = Scaling::nv, .box = box};
      for (const double a : {9e37, 6.5, 0.0, kInf}) check_orders(op, {x, number(x.type.shape, a)});
      op.stochastic = true, op.seed = 7;
      for (const double a : {9e37, 6.5}) check_orders(op, {x, number(x.type.shape, a), rows});
    }
}

TEST(QuantizeOnGpu, rotated_tokens_are_the_cpus) {
  for (const DType dtype : kTypes)
    expect_same(RotateTokens{}, {random_tensor(dtype, {48, 3, 43}, 9)}, fmt::format("rotated {}", name_of(dtype)));
}

TEST(QuantizeOnGpu, codes_are_turned_as_on_the_cpu) {
  for (const Shape& shape : {Shape{16, 8}, Shape{48, 3, 40}, Shape{7, 5}, Shape{144, 2, 136}, Shape{400, 264}})
    for (int split = 1; split < int(shape.size()); ++split) {
      Tensor codes{{DType::f8_e4m3, shape, whole(shape.size())}, {}};
      for (i64 i = 0; i < count(shape); ++i) codes.x.push_back(double(mix_all(4, i) % 256));
      expect_same(TurnCodes{split}, {codes}, fmt::format("{} turned by {}", to_string(shape), split));
    }
}

// Weights one behind another in pools: more of them than a launch takes.
TEST(QuantizeOnGpu, parts_of_pools_are_the_cpus) {
  constexpr i64 kMembers = 100, kEach = 1280;
  ShardAmax amax;
  CastShard cast;
  std::vector<Tensor> states, scales, amaxes;
  i64 pool = 0;
  for (i64 i = 0; i < kMembers; ++i) {
    const i64 elements = i + 1 == kMembers ? kEach - 3 : kEach - 16 * (i % 5);
    cast.members.push_back({int(i), pool, elements}), amax.members.push_back({0, pool, elements});
    pool += elements;
    states.push_back(tensor(DType::f32, {2, 3}, {1, i % 4 ? std::exp(normal(mix_all(13, i))) : 0, 1, 0, 0, 0}));
    scales.push_back(number({1, 1}, 7)), amaxes.push_back(number({1, 1}, 7));
  }
  const Tensor one = values(DType::bf16, {1, pool}, 11), two = values(DType::bf16, {1, kEach}, 12);
  amax.members.push_back({1, 128, 300});
  const Tensor seen = expect_same(amax, {one, two}, "amax of members", true)[0];
  cast.state_at = 1;
  for (const CodeFormat format : {CodeFormat::e4m3, CodeFormat::e5m2})
    for (const bool kept : {false, true}) {
      cast.format = format, cast.kept = kept;
      std::vector<Tensor> ins = {one, seen};
      if (kept) ins.insert(ins.end(), states.begin(), states.end());
      ins.insert(ins.end(), scales.begin(), scales.end());
      if (kept) ins.insert(ins.end(), amaxes.begin(), amaxes.end());
      const std::vector<Tensor> want = on_cpu(cast, ins, true),
                                got = run_kernel(cast, ins, {.first_micro_batch = true, .any_threads = false});
      for (size_t i = 0; i < want.size(); ++i)
        for (size_t k = 0; k < want[i].x.size(); ++k)
          ASSERT_EQ(got[i].x[k], want[i].x[k]) << name_of(format) << kept << " " << i << " " << k;
    }
}

// More amaxes than a launch takes, and ten steps of a layer.
TEST(DelayedScaleOnGpu, is_the_cpus) {
  CollectAmax collect;
  std::vector<double> before(100);
  for (size_t i = 0; i < before.size(); ++i) before[i] = double(i % 5);
  std::vector<Tensor> ins = {tensor(DType::f32, {100}, before)};
  for (int i = 0; i < 300; ++i) {
    collect.places.push_back(int(mix_all(1, i) % 90));
    ins.push_back(tensor(DType::f32, {1, 1}, {i == 17 ? kInf : std::exp(normal(mix_all(2, i)))}));
  }
  for (const bool first : {false, true}) {
    const Tensor want = on_cpu(collect, ins, first)[0];
    EXPECT_EQ(run_kernel(collect, ins, {.first_micro_batch = first, .any_threads = false})[0].x, want.x);
  }
  for (const i64 slots : {1, 4})
    for (const bool largest : {false, true})
      for (const CodeFormat gradients : {CodeFormat::e4m3, CodeFormat::e5m2}) {
        const Tensor fresh = tensor(DType::f32, {1 + slots, 3}, std::vector<double>(size_t(3 * (1 + slots)), 0));
        std::vector<Tensor> states = {fresh, fresh};
        for (int step = 0; step < 10; ++step) {
          std::vector<double> seen(6);
          for (size_t i = 0; i < 6; ++i)
            seen[i] = step % 3 == 2 && i == 4 ? 0 : step == 7 && i == 3 ? kInf : std::exp(normal(mix_all(step, i)));
          const Tensor counts = tensor(DType::f64, {4}, {2.5, 1, 1, step == 5 ? 0.0 : 1.0});
          const DelayedScale op{2, largest, step % 3, gradients};
          const std::vector<Tensor> ins = {states[0], states[1], tensor(DType::f32, {6}, seen), counts};
          states = expect_same(op, ins, fmt::format("step {}", step));
        }
      }
}

// More casts than one launch takes, some of one tensor.
TEST(CastCountsOnGpu, are_collected_as_on_the_cpu) {
  constexpr int kCasts = 300, kTensors = 70;
  CollectCounts op;
  std::vector<Tensor> ins = {random_tensor(DType::f64, {kTensors, kCastCounts}, 1)};
  for (double& x : ins[0].x) x = std::floor(1000 * x);
  for (int i = 0; i < kCasts; ++i) {
    op.places.push_back(int(mix_all(2, i) % (kTensors - 1))), op.elements.push_back(i64{1} << (i % 40));
    ins.push_back(tensor(DType::i64, {2}, {double(mix_all(3, i) % 100000), double(i)}));
  }
  for (const bool first : {true, false}) expect_same(op, ins, "counts", first);
}

// More layers than a launch takes.
TEST(DelayedScaleOnGpu, moves_many_layers) {
  constexpr i64 kLayers = 300;
  std::vector<Tensor> ins(kLayers, tensor(DType::f32, {2, 3}, std::vector<double>(6, 0)));
  std::vector<double> seen;
  for (i64 i = 0; i < 3 * kLayers; ++i) seen.push_back(std::exp(normal(mix_all(3, i))));
  ins.push_back(tensor(DType::f32, {3 * kLayers}, seen));
  ins.push_back(tensor(DType::f64, {4}, {2.5, 1, 1, 1}));
  expect_same(DelayedScale{.layers = kLayers}, ins, "many layers");
}

}  // namespace megalith::kernel_tests
