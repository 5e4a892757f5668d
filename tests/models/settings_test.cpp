// The same step under every layout: loss, gradients, norm and parameters equal one rank with the full batch and no
// padding.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/models/settings.h"

namespace megalith::harness {

namespace {

class Settings : public testing::TestWithParam<size_t> {};

std::vector<size_t> all() {
  std::vector<size_t> out(settings().size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = i;
  return out;
}

}  // namespace

TEST_P(Settings, equals_one_rank) {
  const Difference d = compare_with_one_rank(settings()[GetParam()].spec);
  std::cout << fmt::format("loss {:.0e} gradients {:.0e} norm {:.0e} step {:.0e}\n", d.loss, d.gradients, d.norm,
                           d.step);
  EXPECT_LT(d.loss, 1e-10);
  EXPECT_LT(d.gradients, 1e-10);
  EXPECT_LT(d.norm, 1e-10);
  EXPECT_LT(d.step, 1e-10);
  EXPECT_LT(d.tallies, 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Gpt, Settings, testing::ValuesIn(all()), [](const auto& info) {
  static const std::vector<Setting> made = settings();  // made once, not for the name of each test
  return made[info.param].name;
});

}  // namespace megalith::harness
