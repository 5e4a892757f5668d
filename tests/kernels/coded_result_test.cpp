// Casts on the way out of an op have the bits of the separate ops. So have several casts of one value. Sizes cut tiles
// of 128 x 128 values. Some suit no such kernel.
#include "ops/coded_result.h"

#include "ops/rms_norm.h"
#include "ops/swiglu.h"
#include "tests/kernels/kernel_run.h"

namespace megalith::kernel_tests {

namespace {

// Values over several binades. Some rows and columns are zeros.
Tensor values(DType dtype, const Shape& shape, u64 seed) {
  Tensor t = random_tensor(dtype, shape, seed);
  const i64 columns = shape.back();
  for (i64 i = 0; i < i64(t.x.size()); ++i) {
    const bool zero = i / columns % 37 == 5 || i % columns % 41 == 7;
    t.x[size_t(i)] *= zero ? 0 : std::ldexp(1.0, int(mix_all(seed, 77, u64(i)) % 9) - 6);
  }
  return tensor(dtype, shape, t.x);
}

struct Values {
  std::optional<AnyOp> op;
  std::vector<Tensor> ins;
  std::string what;
};

bool is_pair(const Values& v) { return !v.op || v.op->get_if<SwigluGrad>(); }  // [s,b,2,f], else [s,b,f]

// Values of each op, and values of no op.
std::vector<Values> all_values(DType dtype, i64 s, i64 b, i64 f) {
  const Tensor x = values(dtype, {s, b, 2, f}, 1), dy = values(dtype, {s, b, f}, 2), w = values(dtype, {f}, 3);
  std::vector<Values> all = {{{}, {x}, "values"}, {RmsNorm{}, {dy, w}, "norm"}};
  for (const Gate act : {Gate::silu, Gate::gelu_tanh, Gate::quick_gelu}) {
    all.push_back({Swiglu{act}, {x}, fmt::format("{}", name_of(act))});
    all.push_back({SwigluGrad{false, act}, {dy, x}, fmt::format("{}'s gradient", name_of(act))});
  }
  return all;
}

std::vector<Tensor> run_any(const AnyOp& op, const std::vector<Tensor>& ins) {
  const RunOptions options{.any_threads = false, .in_place = false};
  if (const auto* norm = op.get_if<RmsNorm>()) return run_kernel(*norm, ins, options);
  if (const auto* swiglu = op.get_if<Swiglu>()) return run_kernel(*swiglu, ins, options);
  if (const auto* grad = op.get_if<SwigluGrad>()) return run_kernel(*grad, ins, options);
  return run_kernel(*op.get_if<Quantize>(), ins, options);
}

// more: the inputs of each cast but its first.
void expect_separate(const Values& v, std::vector<Quantize> casts, const std::vector<Tensor>& more,
                     const std::string& what) {
  const std::vector<Tensor> made = v.op ? run_any(*v.op, v.ins) : v.ins;
  const Tensor& y = made[0];
  for (Quantize& cast : casts)
    for (size_t d = 0; d < cast.box.size(); ++d) cast.box[d] = std::min(cast.box[d], y.type.shape[d]);
  std::vector<Tensor> ins = v.ins, want(made.begin() + 1, made.end());
  ins.insert(ins.end(), more.begin(), more.end());
  for (const Quantize& cast : casts) {
    std::vector<Tensor> of_cast = {y};
    of_cast.insert(of_cast.end(), more.begin(), more.end());
    for (const Tensor& t : run_any(cast, of_cast)) want.push_back(t);
  }
  const std::vector<Tensor> got = run_kernel(CodedResult{v.op, y.type, casts}, ins, {.any_threads = false});
  ASSERT_EQ(got.size(), want.size());
  for (size_t r = 0; r < want.size(); ++r) {
    i64 wrong = 0;
    for (size_t i = 0; i < want[r].x.size(); ++i) {
      const bool nan = std::isnan(want[r].x[i]) && std::isnan(got[r].x[i]);
      wrong += !nan && std::bit_cast<u64>(want[r].x[i]) != std::bit_cast<u64>(got[r].x[i]);
    }
    EXPECT_EQ(wrong, 0) << v.what << ", " << to_string(y.type) << ", " << what << ": result " << r << " of "
                        << want[r].x.size() << " numbers";
  }
}

struct Sizes {
  i64 s, b, f;
};
constexpr Sizes kSizes[] = {{32, 1, 8}, {128, 1, 128}, {144, 2, 136}, {272, 3, 256}, {24, 1, 48}, {5, 2, 24}};

}  // namespace

TEST(CodedResult, one_kept_scale_for_all_values) {
  for (const DType dtype : {DType::bf16, DType::f32})
    for (const auto& [s, b, f] : kSizes)
      for (const Values& v : all_values(dtype, s, b, f))
        for (const CodeOrders orders : {CodeOrders::as_is, CodeOrders::transposed, CodeOrders::both})
          for (const double scale : {0.0, 300.0}) {
            if (!v.op) continue;
            Quantize op{.format = is_pair(v) ? CodeFormat::e5m2 : CodeFormat::e4m3, .scaling = Scaling::kept};
            op.box = {s, b}, op.at = 1, op.orders = orders, op.split = orders == CodeOrders::as_is ? 0 : 2;
            op.gives_amax = true, op.counts = scale > 0;
            if (is_pair(v)) op.box.push_back(2);
            op.box.push_back(f);
            expect_separate(v, {op}, {tensor(DType::f32, {3}, {5, scale, 5})},
                            fmt::format("{}, scale {}", name_of(orders), scale));
          }
}

TEST(CodedResult, scales_of_features_and_of_tokens) {
  for (const DType dtype : {DType::bf16, DType::f32})
    for (const auto& [s, b, f] : kSizes)
      for (const Values& v : all_values(dtype, s, b, f))
        for (const bool counts : {false, true})
          for (const int which : {1, 2, 3}) {
            if (!v.op && which != 3) continue;
            const bool pair = is_pair(v);
            const CodeFormat format = pair && v.op ? CodeFormat::e5m2 : CodeFormat::e4m3;
            Quantize features{.format = format, .scaling = Scaling::power_of_two}, tokens = features;
            features.box = pair ? Shape{1, 1, 1, 128} : Shape{1, 1, 128};
            tokens.box = pair ? Shape{128, 1, 1, 1} : Shape{128, 1, 1};
            tokens.orders = CodeOrders::transposed, tokens.split = 2, tokens.by_sequence = true;
            features.counts = tokens.counts = counts;
            std::vector<Quantize> casts;
            if (which & 1) casts.push_back(features);
            if (which & 2) casts.push_back(tokens);
            expect_separate(v, casts, {}, fmt::format("casts {}", which));
          }
}

// A value that is not finite makes the scale NaN.
TEST(CodedResult, values_that_are_not_finite) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    for (Values& v : all_values(DType::bf16, 144, 2, 136)) {
      v.ins[0].x[777] = bad;
      if (!v.op) continue;
      Quantize kept{.format = CodeFormat::e4m3, .scaling = Scaling::kept, .box = {144, 2, 136}, .at = 1};
      if (is_pair(v)) kept.box = {144, 2, 2, 136};
      kept.gives_amax = true, kept.orders = CodeOrders::both, kept.split = 2;
      for (const double scale : {0.0, 2.0})
        expect_separate(v, {kept}, {tensor(DType::f32, {3}, {5, scale, 5})}, fmt::format("{}", bad));
    }
}

}  // namespace megalith::kernel_tests
