// A relayout that is begun on a lane in one program and ended in another: who ends it, and memory that stays its own.
#include "plan/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/relayout_op.h"
#include "ops/scale.h"

namespace megalith {
namespace {

constexpr i64 kWorkspace = 1000;

i64 workspace(const Graph&, const Node& n) { return n.op.get_if<Relayout>() ? kWorkspace : 0; }

Type sum_type() { return {DType::f32, {64}, whole(1)}; }

// Begins the sum of the terms over two ranks, and goes on.
Graph begins() {
  Graph g;
  g.mesh = make_mesh({2, 1, 1, 1});
  Builder b(g);
  Type terms = sum_type();
  terms.layout.partial.insert(groups::data);
  b.set_phase(Phase::update);
  b.move_into(b.leaf({"terms", terms, Role::gradient}), {groups::data}, kSame,
              b.leaf({"sum", sum_type(), Role::gradient}), 1);
  g.outputs["more"] = b.add1(Scale{1, 2}, {b.leaf({"x", sum_type()})});
  return g;
}

Graph ends() {
  Graph g;
  g.mesh = make_mesh({2, 1, 1, 1});
  Builder b(g);
  b.set_phase(Phase::update);
  const Value sum = b.add1(Wait{}, {b.leaf({"sum", sum_type(), Role::gradient})});
  g.outputs["twice"] = b.add1(Scale{1, 2}, {sum});
  return g;
}

std::string lane_refusal(const Plan& plan) {
  try {
    origins_of_waits(plan);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST(Lanes, AWaitEndsWhatAnotherProgramBegan) {
  const Graph first = begins(), second = ends();
  const Plan plan =
      plan_memory(first.mesh, {{"begin", &first, {Phase::update}}, {"end", &second, {Phase::update}}}, workspace);
  const auto origins = origins_of_waits(plan);
  ASSERT_EQ(origins.size(), 2u);
  EXPECT_TRUE(std::none_of(origins[0].begin(), origins[0].end(), [](InstructionPlace o) { return bool(o); }));
  const auto& in = plan.programs[1].instructions;
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(bool(origins[1][i]), in[i].op.get_if<Wait>() != nullptr);
    if (!origins[1][i]) continue;
    EXPECT_EQ(origins[1][i].program, 0);
    EXPECT_TRUE(plan.programs[0].instructions[size_t(origins[1][i].instruction)].op.get_if<Relayout>());
  }
}

TEST(Lanes, WhatAnotherProgramEndsKeepsItsWorkspace) {
  const Graph first = begins(), second = ends();
  const Plan plan =
      plan_memory(first.mesh, {{"begin", &first, {Phase::update}}, {"end", &second, {Phase::update}}}, workspace);
  for (const Instruction& in : plan.programs[0].instructions) {
    if (!in.op.get_if<Relayout>()) continue;
    EXPECT_GE(in.workspace_bytes, kWorkspace);
    EXPECT_LE(in.workspace + in.workspace_bytes, plan.leaf_bytes);  // temporaries of programs come after the leaves
    for (const Leaf& l : plan.leaves)
      EXPECT_TRUE(l.role == Role::kept || l.offset + l.bytes <= in.workspace ||
                  in.workspace + in.workspace_bytes <= l.offset)
          << l.name;
  }
  EXPECT_EQ(plan.bytes(Role::kept), align_up(kWorkspace));
}

TEST(Lanes, ALaneWithOneEndIsRefused) {
  const Graph first = begins(), second = ends();
  EXPECT_EQ(lane_refusal(plan_memory(first.mesh, {{"end", &second, {Phase::update}}}, workspace)),
            "program end: a wait for a transfer that is on no lane: ");
  EXPECT_EQ(lane_refusal(plan_memory(first.mesh, {{"begin", &first, {Phase::update}}}, workspace)),
            "program begin: work on a lane that nothing waits for: ");
}

}  // namespace megalith
