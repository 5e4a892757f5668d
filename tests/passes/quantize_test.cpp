// Tests of the pass `quantize`: the quantized layers, their formats, and how often a value is cast to codes.
#include "passes/quantize.h"

#include <gtest/gtest.h>

#include "models/gpt/gpt.h"
#include "ops/einsum.h"
#include "ops/quantize.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"
#include "ops/swiglu.h"
#include "passes/gradients.h"
#include "small_models.h"
#include "tests/passes/count_ops.h"

namespace megalith {

namespace {

using Format = QuantizeConfig::Format;
using Recipe = QuantizeConfig::Recipe;

// The model with four layers and sizes that the formats accept.
ModelConfig sized(ModelConfig c) {
  c.num_layers = 4, c.hidden_size = 64, c.ffn_hidden_size = 96, c.kv_channels = 16;
  c.seq_length = c.max_position_embeddings = 64;
  return c;
}

struct Quantized {
  Graph g;
  QuantizeReport report;
};

Quantized quantized(const QuantizeConfig& config, const ModelConfig& model = sized(llama()), bool training = true) {
  Quantized q;
  q.g.mesh = make_mesh({});
  Builder b(q.g);
  BuildMode mode;
  mode.batch = 2;
  const Built gpt = Gpt(model).build_whole(b, mode);
  if (training) add_gradients(b, gpt.parameters, gpt.terms);
  q.report = quantize(q.g, {config, model.num_layers, 1});
  verify(q.g);
  return q;
}

Graph tensorwise_on(const Mesh& mesh) {
  Graph g;
  g.mesh = mesh;
  Builder b(g);
  BuildMode mode;
  mode.batch = 2;
  ModelConfig model = sized(llama());
  model.ffn_hidden_size = 128;
  const ParallelStyle style{.sequence_parallel = mesh.num_ranks() > 1};
  const Built gpt = Gpt(model, style).build_whole(b, mode);
  add_gradients(b, gpt.parameters, gpt.terms);
  quantize(g, {{.format = Format::hybrid, .recipe = Recipe::tensorwise}, model.num_layers, 1});
  return g;
}

int coded(const Graph& g, CodeFormat x, CodeFormat w) {
  return count_ops<QuantizedProduct>(
      g, [&](const QuantizedProduct& p, const Node&) { return p.x_format == x && p.w_format == w; });
}
// Counts products of values with weights that are not quantized, except the three of the output layer.
int plain_of_layers(const Graph& g) {
  return count_ops<Einsum>(
      g, [](const Einsum& e, const Node& n) { return n.origin.layer >= 0 && split_spec(e.spec).first[1].size() > 2; });
}

constexpr int kLinears = 4 * 6;  // q, k, v, the projection, fc1, fc2

}  // namespace

TEST(QuantizePass, rewrites_three_products_of_each_linear_layer) {
  const Quantized q = quantized({.format = Format::hybrid, .recipe = Recipe::tensorwise});
  EXPECT_EQ(q.report.layers, kLinears);
  EXPECT_EQ(q.report.products, 3 * kLinears);
  EXPECT_EQ(count_ops<QuantizedProduct>(q.g), 3 * kLinears);
  EXPECT_TRUE(q.report.others.empty());
  EXPECT_EQ(coded(q.g, CodeFormat::e4m3, CodeFormat::e4m3), kLinears);      // x w
  EXPECT_EQ(coded(q.g, CodeFormat::e5m2, CodeFormat::e4m3), 2 * kLinears);  // dy w, dy x
  const Quantized e4m3 = quantized({.format = Format::e4m3, .recipe = Recipe::tensorwise});
  EXPECT_EQ(coded(e4m3.g, CodeFormat::e4m3, CodeFormat::e4m3), 3 * kLinears);
}

// With one scale per tensor, x and dy are cast once for both products that read them. A weight is cast in the forward
// and in the backward.
TEST(QuantizePass, shares_codes_of_one_scale) {
  const Quantized q = quantized({.format = Format::hybrid, .recipe = Recipe::tensorwise});
  const int inputs = 4 * 4;  // q, k and v have one input
  EXPECT_EQ(count_ops<Quantize>(q.g), inputs + kLinears + 2 * kLinears);
  EXPECT_EQ(count_ops<Amax>(q.g), inputs + kLinears + kLinears);
}

// Blocks are along the summed dimension. x and dy are summed along two dimensions, so each has two kinds of codes.
TEST(QuantizePass, makes_blocks_along_what_is_summed) {
  const Quantized q = quantized({.format = Format::e4m3, .recipe = Recipe::mxfp8});
  EXPECT_EQ(count_ops<Quantize>(q.g), 2 * 4 * 4 + 2 * kLinears + 2 * kLinears);
  EXPECT_EQ(count_ops<Amax>(q.g), 0);
  for (const Node& n : q.g.nodes)
    if (const auto* p = n.op.get_if<QuantizedProduct>()) {
      const auto [ins, outs] = split_spec(p->spec);
      const auto is_summed = [&](const std::string& letters, const Shape& box) {
        for (size_t d = 0; d < letters.size(); ++d)
          if (box[d] > 1 && outs[0].find(letters[d]) != std::string::npos) return false;
        return true;
      };
      EXPECT_TRUE(is_summed(ins[0], p->x_box) && is_summed(ins[1], p->w_box)) << p->spec;
    }
}

TEST(QuantizePass, rotates_what_fp4_sums_over_tokens) {
  const Quantized q = quantized({.fp4_format = QuantizeConfig::Fp4Format::e2m1});
  EXPECT_EQ(count_ops<RotateTokens>(q.g), 4 * 4 + kLinears);
  const int random = count_ops<Quantize>(q.g, [](const Quantize& op, const Node&) { return op.stochastic; });
  EXPECT_EQ(random, 2 * kLinears);  // dy, in both of its products
}

TEST(QuantizePass, leaves_what_it_is_told_to_leave) {
  QuantizeConfig config{.format = Format::hybrid, .recipe = Recipe::blockwise};
  config.ends_in_bf16 = true, config.layers_at_end = 2;
  const Quantized ends = quantized(config);
  EXPECT_EQ(ends.report.layers, kLinears / 4);
  EXPECT_EQ(ends.report.others.size(), size_t(kLinears * 3 / 4));
  for (const Node& n : ends.g.nodes) EXPECT_TRUE(!n.op.get_if<QuantizedProduct>() || n.origin.layer == 1);
  config = {.format = Format::hybrid, .recipe = Recipe::blockwise, .weight_gradients = false};
  const Quantized forward_and_data = quantized(config);
  EXPECT_EQ(forward_and_data.report.products, 2 * kLinears);
  EXPECT_EQ(plain_of_layers(forward_and_data.g), kLinears);
}

// Embedding, output layer and router are not quantized. Without a backward the graph quantizes only the forward. If one
// scale applies to all tokens, ranks with sequence parallelism gather codes, one byte a number.
TEST(QuantizePass, lets_ranks_gather_codes) {
  const auto gathered = [](Recipe recipe) {
    Graph g;
    g.mesh = make_mesh({1, 1, 2, 1});
    Builder b(g);
    BuildMode mode;
    mode.batch = 2;
    ModelConfig model = sized(llama());
    model.ffn_hidden_size = 128;
    const Built gpt = Gpt(model, ParallelStyle{.sequence_parallel = true}).build_whole(b, mode);
    add_gradients(b, gpt.parameters, gpt.terms);
    quantize(g, {{.format = Format::hybrid, .recipe = recipe}, model.num_layers, 1});
    run_passes(g, standard_passes());
    verify(g);
    std::map<DType, int> out;
    for (const Node& n : g.nodes)
      if (const auto* r = n.op.get_if<Relayout>(); r && r->transfer == Transfer::all_gather && n.origin.layer >= 0)
        ++out[g.type(n.outs[0]).dtype];
    return out;
  };
  // Each layer gathers two inputs in the forward, two again for dw, and two gradients.
  const std::map<DType, int> codes = {{DType::f8_e4m3, 4 * 4}, {DType::f8_e5m2, 4 * 2}};
  EXPECT_EQ(gathered(Recipe::tensorwise), codes);
  EXPECT_EQ(gathered(Recipe::delayed), codes);
  EXPECT_EQ(gathered(Recipe::mxfp8).at(DType::f32), 4 * 6);  // gathering would cut blocks of tokens
}

TEST(QuantizePass, knows_linear_layers_by_their_names) {
  for (const char* linear :
       {"decoder.layers.0.self_attention.linear_qkv.weight", "decoder.layers.3.mlp.linear_fc2.weight",
        "mtp.layers.0.eh_proj_hidden.weight", "decoder.layers.1.mlp.fc1_latent_proj.weight"})
    EXPECT_TRUE(is_linear_weight(linear)) << linear;
  for (const char* other : {"embedding.word_embeddings.weight", "output_layer.weight",
                            "decoder.layers.0.mlp.router.weight", "decoder.layers.0.mlp.linear_fc1.bias",
                            "decoder.final_layernorm.weight", "decoder.layers.0.mlp.shared_experts.gate_weight"})
    EXPECT_FALSE(is_linear_weight(other)) << other;
  const Quantized forward = quantized({.format = Format::hybrid, .recipe = Recipe::tensorwise}, sized(gpt2()), false);
  EXPECT_EQ(forward.report.products, kLinears);
}

// If a product sums over first dims, its codes are transposed. The cast writes the orders that are read.
TEST(TransposeCodes, sums_over_last_dims) {
  Quantized q = quantized({.format = Format::hybrid, .recipe = Recipe::tensorwise});
  EXPECT_TRUE(transpose_codes(q.g));
  verify(q.g);
  const auto orders = [&](CodeOrders o) {
    return count_ops<Quantize>(q.g, [&](const Quantize& op, const Node&) { return op.orders == o; });
  };
  EXPECT_EQ(orders(CodeOrders::both), 4 * 4 + kLinears);  // x and dy: for y or dx, and dw
  EXPECT_EQ(orders(CodeOrders::as_is), kLinears);         // w in the forward
  EXPECT_EQ(orders(CodeOrders::transposed), kLinears);    // and in the backward
  int products = 0;
  for (const Node& n : q.g.nodes)
    if (const auto* p = n.op.get_if<QuantizedProduct>()) {
      const auto [ins, outs] = split_spec(p->spec);
      for (const std::string& letters : ins) {
        const size_t summed = letters.find_first_not_of(outs[0]);
        ASSERT_NE(summed, std::string::npos) << p->spec;
        EXPECT_EQ(letters.find_first_of(outs[0], summed), std::string::npos) << p->spec;
      }
      ++products;
    }
  EXPECT_EQ(products, 3 * kLinears);
  EXPECT_FALSE(transpose_codes(q.g));
}

// If codes of a weight are kept for the backward, one cast makes them in both orders.
TEST(TransposeCodes, follows_what_is_kept) {
  Quantized q = quantized({.format = Format::hybrid, .recipe = Recipe::tensorwise});
  EXPECT_TRUE(keep_repeated(q.g));
  EXPECT_EQ(count_ops<Quantize>(q.g), 4 * 4 + 2 * kLinears);
  transpose_codes(q.g);
  verify(q.g);
  EXPECT_EQ(count_ops<Quantize>(q.g, [](const Quantize& op, const Node&) { return op.orders == CodeOrders::both; }),
            4 * 4 + 2 * kLinears);
}

// Without weight gradients nothing reads x or dy transposed.
TEST(TransposeCodes, gives_no_order_that_nobody_reads) {
  Quantized q = quantized({.format = Format::hybrid, .recipe = Recipe::tensorwise, .weight_gradients = false});
  run_passes(q.g, standard_passes(), {"keep-repeated"});
  EXPECT_EQ(count_ops<Quantize>(q.g, [](const Quantize& op, const Node&) { return op.orders == CodeOrders::both; }), 0);
  EXPECT_EQ(
      count_ops<Quantize>(q.g, [](const Quantize& op, const Node&) { return op.orders == CodeOrders::transposed; }),
      kLinears);
}

// A cast with a stored scale also returns its amax, so no extra read is needed. This includes weights in the backward,
// so that their codes can be those of the forward.
TEST(QuantizePass, has_the_amax_of_casts_by_kept_scales) {
  Quantized q = quantized({.format = Format::hybrid, .recipe = Recipe::delayed});
  const auto gives = [](const Quantize& op, const Node&) { return op.gives_amax; };
  const int casts = 4 * 4 + kLinears + 2 * kLinears;
  EXPECT_EQ(count_ops<Amax>(q.g), 0);
  EXPECT_EQ(count_ops<Quantize>(q.g, gives), casts);
  EXPECT_TRUE(keep_repeated(q.g));
  EXPECT_EQ(count_ops<Quantize>(q.g, gives), casts - kLinears);
  EXPECT_TRUE(transpose_codes(q.g));
  verify(q.g);
  EXPECT_EQ(count_ops<Quantize>(q.g, gives), casts - kLinears);
}

// Blocks of tokens are adjacent in both operands of a weight gradient.
TEST(TransposeCodes, brings_the_tokens_of_a_block_together) {
  ModelConfig model = sized(llama());
  model.hidden_size = 256, model.ffn_hidden_size = 384, model.kv_channels = 64;
  model.seq_length = model.max_position_embeddings = 128;
  Quantized q = quantized({.format = Format::hybrid, .recipe = Recipe::blockwise}, model);
  EXPECT_TRUE(transpose_codes(q.g));
  verify(q.g);
  const auto by_sequence = [](const auto& op, const Node&) { return op.by_sequence; };
  EXPECT_EQ(count_ops<QuantizedProduct>(q.g, by_sequence), kLinears);
  EXPECT_EQ(count_ops<Quantize>(q.g, by_sequence), 4 * 4 + kLinears);
  for (const Node& n : q.g.nodes)
    if (const auto* p = n.op.get_if<QuantizedProduct>(); p && p->by_sequence) {
      for (const std::string& letters : split_spec(p->spec).first) EXPECT_TRUE(letters.ends_with("bs")) << p->spec;
      EXPECT_EQ(split_spec(p->spec_before()).first[0].substr(0, 2), "sb");
    }
  EXPECT_FALSE(transpose_codes(q.g));
}

// Norms, SwiGLU, their gradients and the gradient of rope return the amax of what linear layers cast. These are the
// inputs of qkv, fc1 and fc2, and the gradients of q, k, the projection, fc1 and fc2. For the projection's input, the
// gradient of v and weights a separate node reads the amax.
TEST(FuseAmax, makers_of_values_give_their_amax) {
  for (const Mesh& mesh : {make_mesh({}), make_mesh({1, 1, 2, 1})}) {
    Graph g = tensorwise_on(mesh), apart = tensorwise_on(mesh);
    run_passes(g, standard_passes()), run_passes(apart, standard_passes(), {"fuse-amax"});
    const auto gives = [](const auto& op, const Node&) { return op.gives_amax; };
    EXPECT_EQ(count_ops<RmsNorm>(g, gives), 4 * 2);
    EXPECT_EQ(count_ops<Swiglu>(g, gives), 4);
    EXPECT_EQ(count_ops<SwigluGrad>(g, gives), 4);
    EXPECT_EQ(count_ops<RmsNormGrad>(g, gives), 4 * 2);
    EXPECT_EQ(count_ops<Rope>(g, gives), 4 * 2);
    EXPECT_EQ(count_ops<Amax>(apart), 4 * 4 + 2 * kLinears);
    EXPECT_EQ(count_ops<Amax>(g), 4 + 4 + kLinears);
    EXPECT_FALSE(fuse_amax(g));
  }
}

// A forward value that only the backward casts needs a separate read. So does a box that is not the whole tensor.
TEST(FuseAmax, other_maxima_are_read) {
  for (const Phase phase : {Phase::forward, Phase::backward})
    for (const i64 rows : {2, 4}) {
      Graph g;
      g.mesh = make_mesh({});
      Builder b(g);
      const Value y = swiglu(b, b.leaf({"x", {DType::f32, {4, 2, 2, 8}, whole(4)}}));
      b.set_phase(phase);
      g.outputs["y"] = y, g.outputs["amax"] = b.add1(Amax{{rows, 2, 8}}, {y});
      EXPECT_EQ(fuse_amax(g), phase == Phase::forward && rows == 4);
      verify(g);
    }
}

// The weight gradient is added directly to its accumulator.
TEST(QuantizePass, accumulates_in_the_product) {
  Quantized q = quantized({.format = Format::hybrid, .recipe = Recipe::tensorwise});
  run_passes(q.g, standard_passes());
  EXPECT_EQ(
      count_ops<QuantizedProduct>(q.g, [](const QuantizedProduct& p, const Node&) { return p.accumulate && p.starts; }),
      kLinears);
}

}  // namespace megalith
