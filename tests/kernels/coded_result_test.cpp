// Casts fused into an op have the bits of the separate ops. So have several casts of one value. Sizes cut tiles
// of 128 x 128 values.
#include "ops/coded_result.h"

#include "ops/rms_norm.h"
#include "ops/swiglu.h"
#include "tests/kernels/kernel_run.h"

namespace megalith::kernel_tests {

namespace {

// Values over several binades. Some rows and columns are zeros.
Tensor values(const Shape& shape, u64 seed) {
  Tensor t = random_tensor(DType::bf16, shape, seed);
  const i64 columns = shape.back();
  for (i64 i = 0; i < i64(t.x.size()); ++i) {
    const bool zero = i / columns % 37 == 5 || i % columns % 41 == 7;
    t.x[size_t(i)] *= zero ? 0 : std::ldexp(1.0, int(mix_all(seed, 77, u64(i)) % 9) - 6);
  }
  return tensor(DType::bf16, shape, t.x);
}

struct Values {
  std::optional<AnyOp> op;
  std::vector<Tensor> ins;
  std::string what;
};

bool is_pair(const Values& v) { return v.op && v.op->get_if<SwigluGrad>(); }  // [s,b,2,f], else [s,b,f]

// Values of each op, and values of no op.
std::vector<Values> all_values(i64 s, i64 b, i64 f) {
  const Tensor x = values({s, b, 2, f}, 1), dy = values({s, b, f}, 2), w = values({f}, 3);
  std::vector<Values> all = {{{}, {dy}, "values"}, {RmsNorm{}, {dy, w}, "norm"}};
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

// more: the inputs of the only cast but its first, or none.
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

CodeFormat format_of(const Values& v) { return is_pair(v) ? CodeFormat::e5m2 : CodeFormat::e4m3; }

Tensor state_of(double scale) { return tensor(DType::f32, {3}, {5, scale, 5}); }

// By element 1 of the state.
Quantize kept_cast(const Values& v, CodeOrders orders, bool counts) {
  Quantize op{.format = format_of(v), .scaling = Scaling::kept, .box = v.ins[0].type.shape, .at = 1, .orders = orders};
  if (is_pair(v)) op.box.insert(op.box.begin() + 2, 2);  // the first input is dy
  if (v.op && v.op->get_if<Swiglu>()) op.box.erase(op.box.begin() + 2);
  op.split = orders == CodeOrders::as_is ? 0 : 2, op.gives_amax = true, op.counts = counts;
  return op;
}

// which & 1: along features. which & 2: along tokens.
std::vector<Quantize> box_casts(const Values& v, int which, bool counts) {
  Quantize features{.format = format_of(v), .scaling = Scaling::power_of_two}, tokens = features;
  features.box = is_pair(v) ? Shape{1, 1, 1, 128} : Shape{1, 1, 128};
  tokens.box = is_pair(v) ? Shape{128, 1, 1, 1} : Shape{128, 1, 1};
  tokens.orders = CodeOrders::transposed, tokens.split = 2, tokens.by_sequence = true;
  features.counts = tokens.counts = counts;
  std::vector<Quantize> casts;
  if (which & 1) casts.push_back(features);
  if (which & 2) casts.push_back(tokens);
  return casts;
}

struct Sizes {
  i64 s, b, f;
};
constexpr Sizes kSizes[] = {{32, 1, 8}, {128, 1, 128}, {144, 2, 136}, {272, 3, 256}};

}  // namespace

TEST(CodedResult, one_kept_scale_for_all_values) {
  for (const auto& [s, b, f] : kSizes)
    for (const Values& v : all_values(s, b, f))
      for (const CodeOrders orders : {CodeOrders::as_is, CodeOrders::transposed, CodeOrders::both})
        for (const double scale : {0.0, 300.0})
          for (const bool counts : {false, true})
            if (v.op)
              expect_separate(v, {kept_cast(v, orders, counts)}, {state_of(scale)},
                              fmt::format("{}, scale {}", name_of(orders), scale));
}

TEST(CodedResult, scales_of_features_and_of_tokens) {
  for (const auto& [s, b, f] : kSizes)
    for (const Values& v : all_values(s, b, f))
      for (const bool counts : {false, true})
        for (const int which : {1, 2, 3})
          if (v.op || which == 3) expect_separate(v, box_casts(v, which, counts), {}, fmt::format("casts {}", which));
}

// A value that is not finite makes the scale NaN: the tensor's, or its box's.
TEST(CodedResult, values_that_are_not_finite) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    for (Values& v : all_values(144, 2, 136)) {
      v.ins[0].x[777] = bad;
      for (const bool counts : {false, true}) {
        const std::string what = fmt::format("{}{}", bad, counts ? ", counted" : "");
        if (v.op)
          for (const double scale : {0.0, 2.0})
            expect_separate(v, {kept_cast(v, CodeOrders::both, counts)}, {state_of(scale)}, what);
        expect_separate(v, box_casts(v, 3, counts), {}, what);
      }
    }
}

}  // namespace megalith::kernel_tests
