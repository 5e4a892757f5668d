// With --fp8-head the products with the vocabulary read codes too.
#include <gtest/gtest.h>

#include "models/gpt/gpt.h"
#include "ops/einsum.h"
#include "ops/quantize.h"
#include "passes/gradients.h"
#include "passes/quantize.h"
#include "small_models.h"
#include "tests/error_of.h"
#include "tests/passes/count_ops.h"

namespace megalith {

namespace {

struct Heads {
  QuantizeReport report;
  int products_of_codes = 0, products_of_values = 0;
};

// Sizes of layers that products of codes take.
ModelConfig sized() {
  ModelConfig model = llama();
  model.hidden_size = 64, model.ffn_hidden_size = 96, model.kv_channels = 16;
  model.seq_length = model.max_position_embeddings = 64;
  return model;
}

using Head = QuantizeConfig::Head;

QuantizeConfig tensorwise(Head head) {
  QuantizeConfig config{.format = QuantizeConfig::Format::hybrid, .recipe = QuantizeConfig::Recipe::tensorwise};
  config.head = head;
  return config;
}

Heads heads(Head head, bool untied, i64 mtp = 0) {
  ModelConfig model = sized();
  model.vocab_size = model.padded_vocab_size = 128;
  model.untie_embeddings_and_output_weights = untied;
  model.mtp.num_layers = mtp;
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  BuildMode mode;
  mode.batch = 2;
  const Built gpt = Gpt(model).build_whole(b, mode);
  add_gradients(b, gpt.parameters, gpt.terms);
  Heads out{quantize(g, {tensorwise(head), model.num_layers, 1})};
  verify(g);
  run_passes(g, standard_passes());
  const auto of_vocabulary = [](const std::string& spec) { return spec.find('v') != std::string::npos; };
  out.products_of_codes =
      count_ops<QuantizedProduct>(g, [&](const QuantizedProduct& p) { return of_vocabulary(p.spec); });
  out.products_of_values = count_ops<Einsum>(g, [&](const Einsum& p) { return of_vocabulary(p.spec); });
  return out;
}

}  // namespace

TEST(QuantizeHead, reads_codes_in_its_three_products) {
  for (const bool untied : {true, false}) {
    const Heads without = heads(Head::none, untied), with = heads(Head::all, untied);
    EXPECT_EQ(without.products_of_codes, 0);
    EXPECT_EQ(without.products_of_values, 3);
    EXPECT_EQ(with.products_of_codes, 3);
    EXPECT_EQ(with.products_of_values, 0);
    EXPECT_EQ(with.report.layers, without.report.layers + 1);
    EXPECT_EQ(with.report.products, without.report.products + 3);
  }
}

// The logits are those of bf16, and both gradients read codes.
TEST(QuantizeHead, reads_codes_in_its_gradients_alone) {
  for (const bool untied : {true, false}) {
    const Heads gradients = heads(Head::gradients, untied);
    EXPECT_EQ(gradients.products_of_codes, 2);
    EXPECT_EQ(gradients.products_of_values, 1);
    EXPECT_EQ(gradients.report.products, heads(Head::none, untied).report.products + 2);
  }
}

TEST(QuantizeHead, wants_sizes_that_products_of_codes_take) {
  const ModelConfig model = sized();
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  BuildMode mode;
  mode.batch = 2;
  Gpt(model).build_whole(b, mode);
  EXPECT_EQ(error_of([&] {
              quantize(g, {tensorwise(Head::all), model.num_layers, 1});
            }),
            "output_layer.weight has 64 inputs and 52 outputs, and the recipe tensorwise wants multiples of 16: change "
            "these sizes, or leave --fp8-head out");
}

// Multi-token prediction uses the head again.
TEST(QuantizeHead, is_one_layer_for_all_its_readers) {
  const Heads without = heads(Head::none, true, 1), with = heads(Head::all, true, 1);
  EXPECT_EQ(without.products_of_values, 6);
  EXPECT_EQ(with.products_of_codes, 6);
  EXPECT_EQ(with.report.layers, without.report.layers + 1);
}

}  // namespace megalith
