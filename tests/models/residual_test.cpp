// --fp32-residual-connection: between the layers there is f32, within them the compute precision.
#include <gtest/gtest.h>

#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/rms_norm.h"
#include "tests/models/settings.h"

namespace megalith::harness {
namespace {

Graph built(const ModelConfig& c, DType dtype) {
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  BuildMode mode{.batch = 2, .precision = precision_of(c, dtype)};
  const Built gpt = Gpt(c).build_whole(b, mode);
  backward(b, gpt.loss());
  verify(g);
  return g;
}

const Type& result(const Graph& g, const Node& n) { return g.values[size_t(n.outs[0].id)].type; }

TEST(Residual, the_stream_is_f32_and_the_products_are_not) {
  ModelConfig c = llama_like();
  c.fp32_residual_connection = true;
  const Graph g = built(c, DType::bf16);
  int sums = 0, norms = 0, gradients = 0, products = 0;
  for (const Node& n : g.nodes) {
    const Type& out = result(g, n);
    const auto* sum = n.op.get_if<Add>();
    const bool stream = sum && sum->spec == "sbh,sbh->sbh", norm = n.op.get_if<RmsNorm>() != nullptr,
               gradient = n.op.get_if<RmsNormGrad>() != nullptr;
    const bool product = n.op.get_if<Einsum>() && n.phase == Phase::forward && out.ndim() > 1;
    sums += stream, norms += norm, gradients += gradient, products += product;
    if (stream || norm || gradient) EXPECT_EQ(out.dtype, DType::f32) << n.op.print();
    if (product) EXPECT_EQ(out.dtype, DType::bf16) << n.op.print();
  }
  EXPECT_EQ(sums, 4);
  EXPECT_EQ(norms, 5);
  EXPECT_EQ(gradients, 5);
  EXPECT_GT(products, 10);
}

TEST(Residual, stages_send_it_in_f32) {
  ModelConfig c = llama_like();
  c.fp32_residual_connection = true;
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  BuildMode mode{.batch = 2, .precision = precision_of(c, DType::bf16)};
  const Built gpt = Gpt(c).build(b, {1, 2}, mode);
  EXPECT_EQ(b.type(gpt.received.at(0)).dtype, DType::f32);
  EXPECT_EQ(b.type(gpt.sent.at(0)).dtype, DType::f32);
}

// Without it, or in f32, the graph is the one that it was.
TEST(Residual, changes_nothing_where_all_is_of_one_type) {
  ModelConfig c = gpt2_like();
  const size_t plain = built(c, DType::f32).nodes.size();
  c.fp32_residual_connection = true;
  EXPECT_EQ(built(c, DType::f32).nodes.size(), plain);
  EXPECT_GT(built(c, DType::bf16).nodes.size(), plain);
}

}  // namespace
}  // namespace megalith::harness
