// Mixtures of experts for tests that make them wrong on purpose.
#pragma once
#include <gtest/gtest.h>

#include <iostream>

#include "tests/models/mistakes.h"

namespace megalith::harness {

inline constexpr AxisSet kEp = groups::expert, kEtp = groups::expert_tensor, kEdp = groups::expert_data;
inline constexpr ParallelStyle kSplit{true, Order::block, false}, kWhole{false, Order::block, false};

inline void expect_found(const TrainingSpec& spec, const std::string& how) {
  const std::string by = noticed_by(spec);
  std::cout << by.substr(0, 150) << "\n";
  EXPECT_EQ(by.substr(0, how.size()), how) << (by.empty() ? "not noticed" : by);
}

inline TrainingSpec routed(const MeshSizes& sizes = {}, ParallelStyle style = kSplit) {
  return {.model = mixture(), .mesh = make_mesh(sizes), .style = style, .micro_batches = 2};
}
inline TrainingSpec with_losses(const MeshSizes& sizes = {}, ParallelStyle style = kSplit) {
  TrainingSpec s = routed(sizes, style);
  s.model.moe.router_load_balancing_type = {"seq_aux_loss"}, s.model.moe.aux_loss_coeff = {0.3};
  s.model.moe.z_loss_coeff = 0.1;
  return s;
}
inline TrainingSpec with_bias(const MeshSizes& sizes = {}) {
  TrainingSpec s = routed(sizes, kWhole);
  s.model.moe.router_score_function = RouterScore::sigmoid, s.model.moe.router_enable_expert_bias = true;
  return s;
}

inline bool is_of(const Node& n, const char* module) { return to_string(n.origin).find(module) != std::string::npos; }

}  // namespace megalith::harness
