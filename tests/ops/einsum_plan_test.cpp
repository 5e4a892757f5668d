#include "ops/einsum_plan.h"

#include <gtest/gtest.h>

#include <map>

#include "mesh/rule.h"

namespace megalith {
namespace {

Shape shape_of(const std::string& letters, const std::map<char, i64>& sizes) {
  Shape s;
  for (char c : letters) s.push_back(sizes.at(c));
  return s;
}

EinsumPlan plan_of(const std::string& spec, const std::map<char, i64>& sizes) {
  const auto [ins, outs] = split_spec(spec);
  return plan_einsum({{ins[0], shape_of(ins[0], sizes)},
                      {ins[1], shape_of(ins[1], sizes)},
                      {outs[0], shape_of(outs[0], sizes)},
                      {DType::f32, DType::f32, DType::f32}});
}

}  // namespace

// Every linear layer of the models, with both its gradients, is one matrix product.
TEST(EinsumPlan, linear_layers_are_products) {
  const std::map<char, i64> odd = {{'s', 7},  {'b', 3}, {'g', 3},  {'r', 2},  {'d', 5},
                                   {'h', 33}, {'n', 2}, {'f', 17}, {'v', 129}};
  for (const std::string spec : {"sbh,grdh->sbgrd", "sbh,gdh->sbgd", "sbgrd,hgrd->sbh", "sbh,nfh->sbnf", "sbh,fh->sbf",
                                 "sbf,hf->sbh", "sbh,vh->sbv"}) {
    const auto [ins, outs] = split_spec(spec);
    for (const auto& s : {spec, outs[0] + "," + ins[1] + "->" + ins[0], outs[0] + "," + ins[0] + "->" + ins[1]}) {
      EXPECT_EQ(plan_of(s, odd).kind, EinsumPlan::kGemm) << s;
      EXPECT_TRUE(plan_of(s, odd).outer.empty()) << s;
    }
  }
}

TEST(EinsumPlan, results_lie_either_way) {
  const std::map<char, i64> sizes = {{'m', 9}, {'n', 50}, {'k', 20}};
  EXPECT_EQ(plan_of("mk,kn->mn", sizes).kind, EinsumPlan::kGemm);
  EXPECT_EQ(plan_of("mk,kn->nm", sizes).kind, EinsumPlan::kGemm);
  EXPECT_TRUE(plan_of("mk,kn->nm", sizes).swapped);
}

TEST(EinsumPlan, sums_and_products_of_equal_shapes) {
  EXPECT_EQ(plan_of("sb,sb->", {{'s', 129}, {'b', 7}}).kind, EinsumPlan::kDot);
  EXPECT_EQ(plan_of("sbh,sbh->sbh", {{'s', 7}, {'b', 2}, {'h', 33}}).kind, EinsumPlan::kMultiply);
}

}  // namespace megalith
