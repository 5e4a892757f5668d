// Every op's gradient against differences of its result, in f64, at odd sizes, on one rank.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/rank_set.h"
#include "tests/ops/check_op.h"

namespace megalith::harness {

namespace {

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (size_t i = 0; i < a.v.size(); ++i) sum += a.v[i] * b.v[i];
  return sum;
}

// One op on one rank: its first result dotted with a fixed cotangent, as a function of one input.
class Slope {
 public:
  explicit Slope(const OpCase& c) : c_(c) {
    std::vector<Layout> layouts;
    for (const CaseInput& in : c.ins) layouts.push_back(whole(in.data.shape.size()));
    auto built = build_case(c, Mesh{}, layouts);
    check(built.has_value(), "[{}] is refused on one rank", c.op.print());
    const Shape shape = built->g.type(built->outs[0]).shape;
    dy_ = random_tensor(shape, 1);
    grads_ = built->grads;
    const size_t outs = built->outs.size();
    const std::vector<Tensor> all = run_case(c, *built);
    analytic_.assign(all.begin() + long(outs), all.end());
    ranks_ = std::make_unique<RankSet>(plan_graph(built->g));
    ranks_->write("dy", dy_);
    for (size_t i = 0; i < c.ins.size(); ++i) ranks_->write(fmt::format("in{}", i), c.ins[i].data);
  }

  // The relative error of each input's gradient along a random direction.
  void expect_right() {
    EXPECT_EQ(dy_.v.size() > 0, true);
    for (size_t k = 0; k < grads_.size(); ++k) {
      const int i = grads_[k].first;
      const Tensor u = random_tensor(c_.ins[i].data.shape, 77 + k);
      const double h = 1e-3, have = dot(analytic_[k], u);
      // Five-point difference: error h^4 / 30 times the fifth derivative, and rounding / h.
      const double slope = (8 * (at(i, u, h) - at(i, u, -h)) - (at(i, u, 2 * h) - at(i, u, -2 * h))) / (12 * h);
      const double scale = norm(analytic_[k]) * norm(u) / std::sqrt(double(u.v.size())) + 1e-3;
      EXPECT_NEAR(have, slope, 1e-8 * scale) << c_.op.print() << ", input " << i;
      EXPECT_GT(norm(analytic_[k]), 1e-6) << c_.op.print() << ", input " << i << ": the test sees nothing";
      ranks_->write(fmt::format("in{}", i), c_.ins[i].data);
    }
  }

 private:
  double at(int input, const Tensor& u, double h) {
    Tensor x = c_.ins[input].data;
    for (size_t i = 0; i < x.v.size(); ++i) x.v[i] += h * u.v[i];
    ranks_->write(fmt::format("in{}", input), x);
    ranks_->run("graph");
    return dot(ranks_->output("graph", "out0"), dy_);
  }

  const OpCase& c_;
  Tensor dy_;
  std::vector<std::pair<int, Value>> grads_;
  std::vector<Tensor> analytic_;
  std::unique_ptr<RankSet> ranks_;
};

class OpGradient : public testing::TestWithParam<size_t> {};

std::vector<size_t> differentiable() {
  std::vector<size_t> out;
  const auto cases = op_cases(odd_sizes());
  for (size_t i = 0; i < cases.size(); ++i)
    if (cases[i].has_grad) out.push_back(i);
  return out;
}

}  // namespace

TEST_P(OpGradient, agrees_with_differences) {
  const OpCase c = op_cases(odd_sizes())[GetParam()];
  Slope(c).expect_right();
}

INSTANTIATE_TEST_SUITE_P(Ops, OpGradient, testing::ValuesIn(differentiable()), [](const auto& info) {
  static const std::vector<OpCase> cases = op_cases(odd_sizes());  // made once, not for the name of each test
  return fmt::format("{}_{}", cases[info.param].op.name(), info.param);
});

}  // namespace megalith::harness
