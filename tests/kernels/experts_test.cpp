// Ops on experts' rows, compared with plain definitions: their plan, the movement of tokens to them and back, products,
// activations.
#include "ops/expert_activation.h"
#include "ops/expert_bias.h"
#include "ops/expert_parts.h"
#include "ops/gather_rows.h"
#include "ops/grouped_product.h"
#include "ops/token_gate.h"
#include "tests/kernels/dispatch.h"

namespace megalith::kernel_tests {

namespace {

using Numbers = std::vector<double>;

class Experts : public testing::TestWithParam<Case> {
 protected:
  const Dispatch d_{GetParam()};
  template <class T>
  std::vector<Array> run(const T& op, const std::vector<Array>& ins) const {
    return run_quick(op, ins, d_.place);
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, Experts, testing::ValuesIn(dispatch_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

constexpr i64 kWidth = 11, kInner = 13;

}  // namespace

TEST_P(Experts, PlanIsThatOfItsDefinition) {
  const auto out = run(ExpertRows{d_.c.experts}, {d_.choice});
  EXPECT_EQ(out[0].x, d_.want_ends);
  EXPECT_EQ(out[2].x, d_.want_slots);
  Numbers source = d_.want_source;
  source.resize(out[1].x.size(), 0);  // elements beyond the rows are not written
  EXPECT_EQ(out[1].x, source);
}

namespace {

// The cuts between parts, if each part has as many tokens as fit into `room` rows.
Numbers cuts_of(const Dispatch& d, i64 room, i64 parts) {
  Numbers cuts(size_t(parts) + 1, double(d.tokens()));
  cuts[0] = 0;
  i64 part = 0, filled = 0;
  for (i64 t = 0; t < d.tokens(); ++t) {
    i64 rows = 0;
    for (i64 j = 0; j < d.c.k; ++j) rows += d.want_slots[size_t(t * d.c.k + j)] >= 0;
    if (filled + rows > room) cuts.at(size_t(++part)) = double(t), filled = 0;
    filled += rows;
  }
  return cuts;
}

}  // namespace

// The plan of a part is that of its tokens, as if all other tokens had chosen nothing.
TEST_P(Experts, PartsHaveTheirOwnPlans) {
  const i64 each = d_.c.experts / d_.c.ep, most = std::min(d_.c.k, each);
  for (const i64 room : {most, 2 * most + 1, d_.rows + most, d_.bound()}) {
    const i64 parts = (d_.tokens() + room / most - 1) / (room / most);
    const Array cuts = run(ExpertParts{d_.c.experts, room, parts}, {d_.choice})[0];
    EXPECT_EQ(cuts.x, cuts_of(d_, room, parts)) << room;
    for (i64 part = 0; part < parts; ++part) {
      Array masked = d_.choice;
      for (i64 i = 0; i < i64(masked.x.size()); ++i)
        if (i / d_.c.k < i64(cuts[part]) || i / d_.c.k >= i64(cuts[part + 1])) masked.x[size_t(i)] = -1;
      const auto want = run(ExpertRows{d_.c.experts}, {masked});
      const auto got = run(ExpertRows{d_.c.experts, room, part}, {d_.choice, cuts});
      EXPECT_EQ(got[0].x, want[0].x);
      EXPECT_EQ(got[2].x, want[2].x);
      ASSERT_EQ(i64(got[1].x.size()), room);
      for (i64 r = 0; r < i64(got[0].x.back()); ++r) ASSERT_EQ(got[1][r], want[1][r]);
    }
  }
}

// Tokens without rows keep the added value. NaN elsewhere does not matter.
TEST_P(Experts, RowsAreAddedToWhatIsThere) {
  for (const DType dtype : tested_dtypes()) {
    const Array rows = d_.rows_of(dtype, {kWidth}, 2);
    Array plus = d_.tokens_of(dtype, kWidth, 21);
    plus.type.layout.copy = {}, plus.type.layout.partial = groups::expert;
    Numbers want = plus.x;
    for (i64 r = 0; r < d_.rows; ++r)
      for (i64 h = 0; h < kWidth; ++h)
        want[size_t(i64(d_.want_source[size_t(r)]) * kWidth + h)] += rows[r * kWidth + h];
    std::vector<Array> ins = d_.with_plan(rows);
    ins.push_back(plus);
    expect_near(run(CombineRows{true}, ins)[0], want, {dtype, double(d_.c.k) + 1}, "added");
  }
}

TEST_P(Experts, TokensGoToRowsAndBack) {
  for (const DType dtype : tested_dtypes()) {
    const Array x = d_.tokens_of(dtype, kWidth, 1), rows = d_.rows_of(dtype, {kWidth}, 2);
    Numbers gathered, combined(x.x.size(), 0);
    for (i64 r = 0; r < d_.rows; ++r)
      for (i64 h = 0; h < kWidth; ++h) {
        const i64 token = i64(d_.want_source[size_t(r)]);
        gathered.push_back(x[token * kWidth + h]);
        combined[size_t(token * kWidth + h)] += rows[r * kWidth + h];
      }
    expect_rows(run(GatherRows{}, d_.with_plan(x))[0], gathered, {dtype, 0}, "gather");
    const Array y = run(CombineRows{}, d_.with_plan(rows))[0];
    expect_near(y, combined, {dtype, double(d_.c.k)}, "combine");
    // Each op is the transpose of the other: <combine(rows), x> = <rows, gather(x)>.
    if (dtype == DType::f64) {
      Numbers head = rows.x;
      head.resize(gathered.size());
      EXPECT_NEAR(dot(y.x, x.x), dot(head, gathered), 1e-10);
    }
  }
}

TEST_P(Experts, WeightsGoToRowsAndBack) {
  for (const DType dtype : tested_dtypes()) {
    if (dtype == DType::bf16 || dtype == DType::f16) continue;  // the router computes weights in f32
    const Array p = d_.tokens_of(dtype, d_.c.k, 3), dw = d_.rows_of(dtype, {}, 4);
    Numbers w(size_t(d_.rows)), dp(p.x.size(), 0);
    for (size_t i = 0; i < p.x.size(); ++i) {
      const i64 row = i64(d_.want_slots[i]);
      if (row >= 0) w[size_t(row)] = p.x[i], dp[i] = dw[row];
    }
    expect_rows(run(GatherWeights{}, d_.with_plan(p))[0], w, {dtype, 0}, "weights");
    EXPECT_EQ(run(GatherWeightsGrad{}, d_.with_plan(dw))[0].x, dp);
  }
}

TEST_P(Experts, RowsAreMultipliedByTheirExpert) {
  for (const DType dtype : tested_dtypes())
    for (const bool transposed : {false, true}) {
      const Array x = d_.rows_of(dtype, {kInner}, 5);
      const Array w = d_.weight(dtype, transposed ? Shape{kInner, kWidth} : Shape{kWidth, kInner}, 6);
      Numbers want;
      for (i64 e = 0; e < i64(d_.want_ends.size()); ++e)
        for (i64 r = d_.begin(e); r < d_.end(e); ++r)
          for (i64 o = 0; o < kWidth; ++o) {
            double sum = 0;
            for (i64 i = 0; i < kInner; ++i)
              sum += x[r * kInner + i] * w[e * kInner * kWidth + (transposed ? i * kWidth + o : o * kInner + i)];
            want.push_back(sum);
          }
      const GroupedProduct op{transposed ? "nf,efh->nh" : "nh,efh->nf", dtype};
      expect_rows(run(op, {x, w, d_.ends})[0], want, {dtype, kInner, 4}, op.spec);
    }
}

TEST_P(Experts, RowsOfAnExpertAreSummedUp) {
  for (const DType dtype : tested_dtypes()) {
    const DType to = accum_of(dtype);
    const Array a = d_.rows_of(dtype, {2, kWidth}, 7), b = d_.rows_of(dtype, {kInner}, 8);
    const i64 out = 2 * kWidth;
    Numbers want;
    double most = 1;
    for (i64 e = 0; e < i64(d_.want_ends.size()); ++e)
      for (i64 o = 0; o < out; ++o)
        for (i64 i = 0; i < kInner; ++i) {
          double sum = 0;
          for (i64 r = d_.begin(e); r < d_.end(e); ++r) sum += a[r * out + o] * b[r * kInner + i];
          want.push_back(sum), most = std::max(most, double(d_.end(e) - d_.begin(e)));
        }
    GroupedProduct op{"nmf,nh->emfh", to};
    expect_near(run(op, {a, b, d_.ends})[0], want, {to, most, std::sqrt(most)}, op.spec);
    op.accumulate = true;
    Array acc = d_.weight(to, {2, kWidth, kInner}, 9);
    for (size_t i = 0; i < want.size(); ++i) want[i] += acc.x[i];
    expect_near(run(op, {a, b, d_.ends, acc})[0], want, {to, most, std::sqrt(most)}, "accumulated");
  }
}

namespace {

std::vector<ExpertAct> all_acts() {
  std::vector<ExpertAct> out;
  for (const Gate g : {Gate::silu, Gate::gelu_tanh, Gate::quick_gelu}) out.push_back({.gated = true, .gate = g});
  for (const Act a : {Act::gelu, Act::gelu_tanh, Act::squared_relu, Act::relu})
    out.push_back({.gated = false, .act = a});
  return out;
}

double logistic_of(double x) { return 1 / (1 + std::exp(-x)); }
double gelu_tanh_of(double x) {
  return x * logistic_of(2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x));
}

double value_of(const ExpertAct& act, const double* u, i64 f, i64 i) {
  const double x = u[i];
  if (!act.gated)
    return act.act == Act::gelu        ? x * 0.5 * std::erfc(-x / std::sqrt(2.0))
           : act.act == Act::gelu_tanh ? gelu_tanh_of(x)
           : act.act == Act::relu      ? std::max(x, 0.0)
                                       : std::pow(std::max(x, 0.0), 2);
  const double gate = act.gate == Gate::silu        ? x * logistic_of(x)
                      : act.gate == Gate::gelu_tanh ? gelu_tanh_of(x)
                                                    : x * logistic_of(1.702 * x);
  return gate * u[f + i];
}

}  // namespace

TEST_P(Experts, ActivationsAreWeighted) {
  for (const DType dtype : tested_dtypes())
    for (const ExpertAct& act : all_acts()) {
      const Array u = d_.rows_of(dtype, act.gated ? Shape{2, kWidth} : Shape{kWidth}, 10);
      const Array w = d_.rows_of(accum_of(dtype), {}, 11);
      Numbers want;
      for (i64 r = 0; r < d_.rows; ++r)
        for (i64 i = 0; i < kWidth; ++i)
          want.push_back(w[r] * value_of(act, u.x.data() + r * kWidth * (act.gated ? 2 : 1), kWidth, i));
      expect_rows(run(ExpertActivation{act}, {u, w, d_.ends})[0], want, {dtype, 24, 1}, std::string(act.name()));
    }
}

TEST_P(Experts, ActivationsGradientsAreDifferences) {
  if (!tested(DType::f64) || d_.bound() > 100) return;
  for (const ExpertAct& act : all_acts()) {
    const Array dy = d_.rows_of(DType::f64, {kWidth}, 12);
    std::vector<Array> ins = {d_.rows_of(DType::f64, act.gated ? Shape{2, kWidth} : Shape{kWidth}, 13),
                              d_.rows_of(DType::f64, {}, 14), d_.ends};
    const size_t n = size_t(d_.rows * kWidth);
    const auto loss = [&] {
      const Array y = run(ExpertActivation{act}, ins)[0];
      return dot({dy.x.begin(), dy.x.begin() + i64(n)}, y.x);
    };
    const auto grads = run(ExpertActivationGrad{act, true}, {dy, ins[0], ins[1], ins[2]});
    expect_gradient(ins, 0, grads[0], loss);
    expect_gradient(ins, 1, grads[1], loss);
    EXPECT_EQ(grads[2].x, run(ExpertActivation{act}, ins)[0].x) << act.name();
  }
}

// In the types of a GPU: compares gradients in f32 and bf16 with differences of the definition.
TEST_P(Experts, ActivationsGradientsInLowPrecision) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const ExpertAct& act : all_acts()) {
      const i64 wide = kWidth * (act.gated ? 2 : 1);
      const Array dy = d_.rows_of(dtype, {kWidth}, 15), w = d_.rows_of(DType::f32, {}, 17);
      const Array u = d_.rows_of(dtype, act.gated ? Shape{2, kWidth} : Shape{kWidth}, 16);
      Numbers du, dw;
      for (i64 r = 0; r < d_.rows; ++r) {
        std::vector<double> row(u.x.begin() + r * wide, u.x.begin() + (r + 1) * wide);
        const auto y = [&] {
          double sum = 0;
          for (i64 i = 0; i < kWidth; ++i) sum += dy[r * kWidth + i] * value_of(act, row.data(), kWidth, i);
          return sum;
        };
        dw.push_back(y());
        for (double& x : row) {
          const double at = x, h = 1e-5;
          x = at + h;
          const double up = y();
          x = at - h;
          du.push_back(w[r] * (up - y()) / (2 * h)), x = at;
        }
      }
      const auto got = run(ExpertActivationGrad{act, true}, {dy, u, w, d_.ends});
      expect_rows(got[0], du, {DType::f32, 64, 4}, std::string(act.name()));
      expect_rows(got[1], dw, {DType::f32, 64, 8}, std::string(act.name()));
    }
}

TEST_P(Experts, BiasesAreThoseOfTheRowsExpert) {
  for (const DType dtype : tested_dtypes())
    for (const bool weighted : {false, true}) {
      const DType wide = accum_of(dtype);
      const Array x = d_.rows_of(dtype, {kWidth}, 18), bias = d_.weight(dtype, {kWidth}, 19);
      const Array w = d_.rows_of(wide, {}, 20);
      Numbers y, dw, db(bias.x.size(), 0);
      double most = 1;
      for (i64 e = 0; e < i64(d_.want_ends.size()); ++e)
        for (i64 r = d_.begin(e); r < d_.end(e); ++r) {
          const double weight = weighted ? w[r] : 1;
          double sum = 0;
          for (i64 i = 0; i < kWidth; ++i) {
            y.push_back(x[r * kWidth + i] + weight * bias[e * kWidth + i]);
            db[size_t(e * kWidth + i)] += weight * x[r * kWidth + i];
            sum += x[r * kWidth + i] * bias[e * kWidth + i];
          }
          dw.push_back(sum), most = std::max(most, double(d_.end(e) - d_.begin(e)));
        }
      std::vector<Array> ins = {x, bias, d_.ends}, sums = {x, d_.ends};
      if (weighted) ins.push_back(w), sums.push_back(w);
      expect_rows(run(ExpertBias{weighted}, ins)[0], y, {dtype, 4, 4}, "bias");
      expect_near(run(SumExpertRows{wide, weighted}, sums)[0], db, {wide, most, std::sqrt(most)}, "sums");
      expect_rows(run(DotExpertBias{}, {x, bias, d_.ends})[0], dw, {wide, kWidth, 4}, "dots");
    }
}

TEST(TokenGate, IsItsDefinition) {
  for (const DType dtype : tested_dtypes())
    for (const bool logistic : {true, false}) {
      const DType wide = accum_of(dtype);
      const Array x = normals(dtype, {5, 3, 19}, 1), dy = normals(dtype, {5, 3, 19}, 2),
                  g = normals(wide, {5, 3, 1}, 3, 3);
      Numbers y, dx, dg;
      for (i64 t = 0; t < 15; ++t) {
        const double s = logistic ? logistic_of(g[t]) : g[t], slope = logistic ? s * (1 - s) : 1;
        double sum = 0;
        for (i64 h = 0; h < 19; ++h) {
          y.push_back(x[t * 19 + h] * s), dx.push_back(dy[t * 19 + h] * s);
          sum += x[t * 19 + h] * dy[t * 19 + h];
        }
        dg.push_back(sum * slope);
      }
      expect_near(run_checked(TokenGate{logistic}, {x, g})[0], y, {dtype, 8}, "gate");
      const auto grads = run_checked(TokenGateGrad{logistic}, {dy, x, g});
      expect_near(grads[0], dx, {dtype, 8}, "dx");
      expect_near(grads[1], dg, {wide, 40, 2}, "dg");
    }
}

}  // namespace megalith::kernel_tests
