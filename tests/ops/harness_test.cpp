// The harness itself: what it places, it assembles; and it sees replicas that differ.
#include <gtest/gtest.h>

#include "tests/harness/move.h"

namespace megalith::harness {

namespace {

const Mesh kMesh = make_mesh({2, 2, 2, 1});

Type type_of(std::vector<AxisList> dims, AxisSet partial, AxisSet copy) {
  return {DType::f64, {8, 4}, {std::move(dims), partial, copy, {}}};
}

}  // namespace

TEST(Harness, assembles_what_it_places) {
  const Tensor full = random_tensor({8, 4}, 1);
  const std::vector<Type> types = {
      type_of({{}, {}}, {}, {}),
      type_of({{{groups::context, Order::zigzag}, {groups::kv_heads}}, {{groups::data}}}, {}, {}),
      type_of({{{groups::kv_heads}}, {}}, {groups::data, groups::context}, {}),
      type_of({{}, {{groups::context}}}, {groups::kv_heads}, {groups::data}),
  };
  for (const Type& t : types)
    EXPECT_LT(max_difference(assemble(kMesh, t, place(kMesh, t, full)), full), 1e-14) << to_string(t);
}

TEST(Harness, partial_terms_are_random) {
  const Type t = type_of({{}, {}}, {groups::data}, {groups::context, groups::kv_heads});
  const Blocks b = place(kMesh, t, filled({8, 4}, 0));
  EXPECT_NE(b[0][0], 0);
  EXPECT_EQ(b[0][0], -b[4][0]);
  EXPECT_EQ(b[0], b[3]);
}

TEST(Harness, sees_replicas_that_differ_in_a_bit) {
  const Type t = type_of({{{groups::data}}, {}}, {}, {groups::context});
  Blocks b = place(kMesh, t, random_tensor({8, 4}, 1));
  EXPECT_NO_THROW(assemble(kMesh, t, b));
  b[3][5] = std::nextafter(b[3][5], 10);
  EXPECT_THROW(assemble(kMesh, t, b), Error);
}

TEST(Harness, sees_numbers_that_are_none) {
  Tensor a = filled({2}, 1), b = a;
  EXPECT_EQ(max_difference(a, b), 0);
  b.v[1] = std::nan("");
  EXPECT_TRUE(std::isinf(max_difference(a, b)));
  EXPECT_TRUE(std::isinf(max_difference(a, filled({3}, 1))));
}

}  // namespace megalith::harness
