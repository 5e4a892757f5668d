// How every kind of weight begins, by Megatron's formulas (TransformerConfig and the layers of Megatron Core 0.16.1):
// normal(init_method_std), output projections divided by sqrt(2 layers), embeddings by their own deviation if they have
// one; or torch's xavier_uniform_, within sqrt(6 / (rows + columns)).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/models/settings.h"

namespace megalith::harness {
namespace {

struct Statistics {
  double mean = 0, std = 0, largest = 0;
};

ModelConfig wide() {
  ModelConfig c = llama_like();
  c.hidden_size = 48, c.ffn_hidden_size = 80, c.num_attention_heads = 6, c.num_query_groups = 2, c.kv_channels = 8;
  c.vocab_size = 200, c.padded_vocab_size = 256, c.seq_length = c.max_position_embeddings = 100, c.num_layers = 2;
  c.init_method_std = 0.05;
  return c;
}

std::map<std::string, Statistics> starts(const ModelConfig& c) {
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  const Built gpt = Gpt(c, {.pack_qkv = true}).build_whole(b, {});
  std::map<std::string, Statistics> out;
  for (const Parameter& p : unpacked(gpt.parameters)) {
    std::vector<float> x(size_t(count(p.type.shape)));
    init_parameter(p, g.mesh, Coord{}, 7, x.data());
    x.resize(size_t(count(p.true_shape())));
    Statistics s;
    for (const float v : x) s.mean += v, s.largest = std::max(s.largest, std::abs(double(v)));
    s.mean /= double(x.size());
    for (const float v : x) s.std += (v - s.mean) * (v - s.mean);
    s.std = std::sqrt(s.std / double(x.size()));
    out[p.name] = s;
  }
  return out;
}

const std::string kLayer = "decoder.layers.1.";

void expect_normal(const Statistics& s, double std, const std::string& name) {
  EXPECT_NEAR(s.std, std, 0.05 * std) << name;
  EXPECT_NEAR(s.mean, 0, 0.1 * std) << name;
  EXPECT_GT(s.largest, 2.5 * std) << name;
}

void expect_uniform(const Statistics& s, double rows, double columns, const std::string& name) {
  const double bound = std::sqrt(6 / (rows + columns));
  EXPECT_LE(s.largest, bound) << name;
  EXPECT_GT(s.largest, 0.98 * bound) << name;
  EXPECT_NEAR(s.std, bound / std::sqrt(3.0), 0.04 * bound) << name;
  EXPECT_NEAR(s.mean, 0, 0.1 * bound) << name;
}

TEST(InitialWeights, normal_by_the_kind_of_weight) {
  ModelConfig c = wide();
  c.position_embedding_type = PositionEmbedding::learned_absolute;
  for (const double own : {0.0, 0.4}) {
    c.embedding_init_method_std = own;
    const auto all = starts(c);
    const double embedding = own > 0 ? own : 0.05;
    for (const char* name : {"embedding.word_embeddings.weight", "embedding.position_embeddings.weight"})
      expect_normal(all.at(name), embedding, name);
    expect_normal(all.at("output_layer.weight"), 0.05, "output_layer");
    for (const char* part : {"self_attention.linear_q.weight", "self_attention.linear_k.weight",
                             "self_attention.linear_v.weight", "mlp.linear_fc1.weight"})
      expect_normal(all.at(kLayer + part), 0.05, part);
    for (const char* part : {"self_attention.linear_proj.weight", "mlp.linear_fc2.weight"})
      expect_normal(all.at(kLayer + part), 0.05 / 2, part);
  }
}

TEST(InitialWeights, xavier_by_the_matrix_that_megatron_draws) {
  ModelConfig c = wide();
  c.position_embedding_type = PositionEmbedding::learned_absolute, c.init_method_xavier_uniform = true;
  c.add_bias_linear = true;
  const auto all = starts(c);
  expect_uniform(all.at("embedding.word_embeddings.weight"), 256, 48, "words");
  expect_uniform(all.at("embedding.position_embeddings.weight"), 100, 48, "positions");
  expect_uniform(all.at("output_layer.weight"), 256, 48, "head");
  for (const char* part : {"linear_q.weight", "linear_k.weight", "linear_v.weight"})
    expect_uniform(all.at(kLayer + "self_attention." + part), (6 + 2 * 2) * 8, 48, part);
  expect_uniform(all.at(kLayer + "self_attention.linear_proj.weight"), 48, 6 * 8, "proj");
  expect_uniform(all.at(kLayer + "mlp.linear_fc1.weight"), 2 * 80, 48, "fc1");
  expect_uniform(all.at(kLayer + "mlp.linear_fc2.weight"), 48, 80, "fc2");
  for (const char* bias : {"self_attention.linear_q.bias", "self_attention.linear_proj.bias", "mlp.linear_fc1.bias"})
    EXPECT_EQ(all.at(kLayer + bias).largest, 0) << bias;
  EXPECT_EQ(all.at(kLayer + "input_layernorm.weight").mean, 1);
}

// The embeddings' own deviation stands before the method of all.
TEST(InitialWeights, xavier_leaves_embeddings_that_have_a_deviation) {
  ModelConfig c = wide();
  c.init_method_xavier_uniform = true, c.embedding_init_method_std = 0.4;
  const auto all = starts(c);
  expect_normal(all.at("embedding.word_embeddings.weight"), 0.4, "words");
  expect_uniform(all.at("output_layer.weight"), 256, 48, "head");
}

}  // namespace
}  // namespace megalith::harness
