// Training steps whose products read codes, in f64 around them: every layout has the same codes, so it has the same
// step. One rounding of a value to another code would show.
#include "passes/quantize.h"

#include <gtest/gtest.h>

#include <numbers>

#include "tests/error_of.h"
#include "tests/models/settings.h"

namespace megalith::harness {

namespace {

using Format = QuantizeConfig::Format;
using Recipe = QuantizeConfig::Recipe;
using Head = QuantizeConfig::Head;

constexpr double kEqual = 1e-10;

QuantizeConfig fp8(Recipe recipe, Format format = Format::hybrid, Head head = Head::none) {
  return {.format = format, .recipe = recipe, .head = head};
}
QuantizeConfig fp4() { return {.fp4_format = QuantizeConfig::Fp4Format::e2m1}; }

std::vector<QuantizeConfig> recipes() {
  return {fp8(Recipe::tensorwise), fp8(Recipe::blockwise, Format::e4m3), fp8(Recipe::mxfp8, Format::e4m3), fp4(),
          fp8(Recipe::tensorwise, Format::hybrid, Head::all)};
}
bool has_head(const QuantizeConfig& c) { return c.head != Head::none; }
std::string name_of(const QuantizeConfig& c) {
  return std::string(name_of_recipe(c)) + (has_head(c) ? "_with_head" : "");
}

// Sizes that blocks divide, on two ranks too.
ModelConfig wide_llama() {
  ModelConfig c = llama_like();
  c.hidden_size = 64, c.ffn_hidden_size = 512, c.kv_channels = 128;
  c.num_attention_heads = c.num_query_groups = 4;
  c.seq_length = c.max_position_embeddings = 128;
  return c;
}

TrainingSpec spec_of(const QuantizeConfig& config, const Mesh& mesh, ParallelStyle style = {}, int micro_batches = 1) {
  TrainingSpec spec{.model = wide_llama(), .mesh = mesh, .style = style, .micro_batches = micro_batches};
  if (has_head(config)) spec.model.padded_vocab_size = 64;
  if (config.on()) spec.edit_all = [config](Graph& g) { quantize(g, {config, 2, 7}); };
  return spec;
}

// Only blocks of 128 need the width on each of four ranks.
TrainingSpec narrow_spec_of(const QuantizeConfig& config, const Mesh& mesh, ParallelStyle style = {},
                            int micro_batches = 1) {
  TrainingSpec spec = spec_of(config, mesh, style, micro_batches);
  if (config.recipe != Recipe::blockwise) spec.model.ffn_hidden_size = 128, spec.model.kv_channels = 32;
  return spec;
}

StepResult step_of(const TrainingSpec& spec) {
  const Batch batch = make_batch(spec.model, false);
  Training t(spec, batch);
  return t.step(initial_values(t.parameters()));
}

void multiply(Tensor& t, double factor) {
  for (double& x : t.v) x *= factor;
}

// Weights as training begins with them: attention is not yet a choice of one key.
Tensors small_values(Tensors values) {
  for (auto& [name, w] : values)
    if (is_linear_weight(name)) multiply(w, 0.1);
  return values;
}

StepResult small_step_of(const TrainingSpec& spec) {
  const Batch batch = make_batch(spec.model, false);
  Training t(spec, batch);
  return t.step(small_values(initial_values(t.parameters())));
}

double worst(const StepResult& a, const StepResult& b) {
  double out = std::max(std::abs(a.loss - b.loss), std::abs(a.norm - b.norm));
  for (const auto& [name, g] : a.gradients) out = std::max(out, max_difference(g, b.gradients.at(name)));
  return out;
}

struct Cosine {
  double both = 0, a = 0, b = 0;
  void add(const Tensor& x, const Tensor& y) {
    for (size_t i = 0; i < x.v.size(); ++i) both += x.v[i] * y.v[i], a += x.v[i] * x.v[i], b += y.v[i] * y.v[i];
  }
  double value() const { return both / std::sqrt(a * b); }
};

double cosine_of(const Tensor& x, const Tensor& y) {
  Cosine c;
  return c.add(x, y), c.value();
}

// Of the gradients of all linear layers.
double cosine_of(const StepResult& got, const StepResult& plain) {
  Cosine c;
  for (const auto& [name, g] : plain.gradients)
    if (is_linear_weight(name)) c.add(g, got.gradients.at(name));
  return c.value();
}

struct Way {
  std::string name;
  Mesh mesh;
  ParallelStyle style;
  int ranks_of_data = 1;
};

std::vector<Way> ways() {
  const ParallelStyle plain{false, Order::block, false}, sp{true, Order::block, false},
      zigzag{false, Order::zigzag, false}, both{true, Order::zigzag, false};
  return {{"tp2", make_mesh({1, 1, 2, 1}), plain},    {"tp2 sp", make_mesh({1, 1, 2, 1}), sp},
          {"tp4 sp", make_mesh({1, 1, 4, 1}), sp},    {"cp2", make_mesh({1, 2, 1, 1}), zigzag},
          {"dp2", make_mesh({2, 1, 1, 1}), plain, 2}, {"dp2 cp2 tp2 sp", make_mesh({2, 2, 2, 1}), both, 2}};
}

class Recipes : public testing::TestWithParam<size_t> {};

}  // namespace

TEST_P(Recipes, give_the_same_step_under_every_layout) {
  const QuantizeConfig config = recipes()[GetParam()];
  for (const int micro_batches : {1, 2}) {
    if (micro_batches == 2 && config.recipe != Recipe::tensorwise) continue;  // nothing of a recipe knows of them
    std::map<int, StepResult> on_one;  // by the ranks of data: a rank's micro-batch is one of a single rank
    for (const Way& way : ways()) {
      if (config.recipe == Recipe::blockwise && way.mesh.n(groups::context) > 1) continue;  // chunks of 32 tokens
      if (!on_one.contains(way.ranks_of_data))
        on_one[way.ranks_of_data] =
            step_of(narrow_spec_of(config, make_mesh({}), {}, micro_batches * way.ranks_of_data));
      const StepResult got = step_of(narrow_spec_of(config, way.mesh, way.style, micro_batches));
      EXPECT_LT(worst(got, on_one.at(way.ranks_of_data)), kEqual) << way.name << ", micro-batches " << micro_batches;
    }
  }
}

// Counting what casts lose changes no step.
TEST_P(Recipes, give_the_same_bits_with_counts) {
  TrainingSpec spec = spec_of(recipes()[GetParam()], make_mesh({}));
  const StepResult without = step_of(spec);
  spec.edit_all = [config = recipes()[GetParam()]](Graph& g) {
    QuantizeSpec counting{config, 2, 7};
    counting.counts = true;
    EXPECT_TRUE(bool(quantize(g, counting).counts.seen));
  };
  EXPECT_EQ(worst(step_of(spec), without), 0);
}

// Sums do not depend on the order of codes, or on the op that finds an amax or casts. Kept codes of weights change
// nothing either.
TEST_P(Recipes, give_the_same_bits_without_a_pass) {
  for (const Mesh& mesh : {make_mesh({}), make_mesh({1, 1, 2, 1})}) {
    TrainingSpec spec = narrow_spec_of(recipes()[GetParam()], mesh, {mesh.num_ranks() > 1, Order::block, false}, 2);
    const StepResult turned = step_of(spec);
    for (const char* pass : {"transpose-codes", "keep-repeated", "fuse-amax", "fuse-casts"}) {
      spec.fuses_casts = std::string_view(pass) != "fuse-casts";
      if (spec.fuses_casts) spec.passes_off = {pass};
      EXPECT_EQ(worst(step_of(spec), turned), 0) << pass;
    }
  }
}

// Recomputation makes the codes again, and they are the same.
TEST_P(Recipes, give_the_same_bits_with_recomputation) {
  using Granularity = RecomputeConfig::Granularity;
  for (const Mesh& mesh : {make_mesh({}), make_mesh({1, 1, 2, 1})}) {
    TrainingSpec spec = narrow_spec_of(recipes()[GetParam()], mesh, {mesh.num_ranks() > 1, Order::block, false}, 2);
    const StepResult want = step_of(spec);
    for (const RecomputeConfig& again :
         {RecomputeConfig{Granularity::full, RecomputeConfig::Method::uniform, 1, {}},
          RecomputeConfig{Granularity::selective, RecomputeConfig::Method::none, 0, {"mlp", "layernorm"}}}) {
      spec.recompute = again;
      EXPECT_EQ(worst(step_of(spec), want), 0);
    }
  }
}

// Of codes of 8 bits the gradient stays near that of values; of 4 bits less so. The step is another one.
TEST_P(Recipes, keep_the_direction_of_the_gradient) {
  const QuantizeConfig config = recipes()[GetParam()];
  const StepResult plain = small_step_of(spec_of({}, make_mesh({}))),
                   got = small_step_of(spec_of(config, make_mesh({})));
  const double cosine = cosine_of(got, plain);
  RecordProperty("cosine", std::to_string(cosine));
  EXPECT_GT(cosine, config.is_fp4() ? 0.95 : 0.995);  // of the full model, docs/fp8.md
  EXPECT_LT(cosine, 1 - 1e-6);
  EXPECT_LT(std::abs(got.loss / plain.loss - 1), config.is_fp4() ? 0.05 : 0.01);
}

// One layer, each parameter separately. A cast to codes adds an error, whose square is `share` of the square of what is
// cast. Rounding to m bits is off by a twelfth of 4^-m of the binade. Values that are spread evenly by their logarithm
// have 1.5 / ln 2 of it. So e4m3 has 0.0006, and e5m2 0.0024. e2m1 has 1 bit, and of small values none. Random rounding
// is off by twice as much. So dw of codes of e5m2 and e4m3 cannot be nearer than about 0.9985.
struct Casts {  // on the way to a gradient, those of x and w, and those of gradients
  double values, gradients;
};

Casts casts_of(const std::string& parameter) {
  const auto is = [&](std::string_view part) { return parameter.find(part) != std::string::npos; };
  if (is("linear_fc2")) return {5, 1};                  // its x is a product of gate and up, each of two casts
  if (is("linear_fc1")) return {4, 2};                  // its dy has passed linear_fc2 and the two
  if (is("pre_mlp_layernorm")) return {4, 2};           // the same
  if (is("linear_proj")) return {3, 1};                 // its x has the casts of v
  if (is("linear_v")) return {2, 2};                    // its dy has passed linear_proj
  if (is("input_layernorm")) return {2, 2};             // mostly of v
  if (is("linear_q") || is("linear_k")) return {6, 2};  // besides the scores': v, and k or q
  return {};
}

double share(CodeFormat format) {
  const double even = 1 / 12.0 / (1.5 / std::numbers::ln2);
  return format == CodeFormat::e4m3 ? even / 64 : format == CodeFormat::e5m2 ? even / 16 : even / 4 * 1.15;
}

double least_cosine(const QuantizeConfig& config, const std::string& parameter) {
  Casts casts = casts_of(parameter);
  if (has_head(config)) ++casts.values, ++casts.gradients;         // every gradient has passed the head, or is its own
  if (casts.values == 0) return config.is_fp4() ? 0.999 : 0.9999;  // only the loss before it has seen codes
  const bool wide = config.format == Format::hybrid;
  const double of_values = share(config.is_fp4() ? CodeFormat::e2m1 : CodeFormat::e4m3),
               of_gradients = config.is_fp4() ? 2 * of_values : share(wide ? CodeFormat::e5m2 : CodeFormat::e4m3);
  return 1 - (casts.values * of_values + casts.gradients * of_gradients) / 2;
}

TEST_P(Recipes, keep_the_gradient_of_one_layer) {
  const QuantizeConfig config = recipes()[GetParam()];
  TrainingSpec plain = spec_of({}, make_mesh({})), coded = spec_of(config, make_mesh({}));
  plain.model.num_layers = coded.model.num_layers = 1;
  const StepResult want = small_step_of(plain), got = small_step_of(coded);
  for (const auto& [name, g] : want.gradients) {
    const double cosine = cosine_of(g, got.gradients.at(name));
    EXPECT_GT(cosine, least_cosine(config, name)) << name;
    EXPECT_LT(cosine, 1 - 1e-7) << name;
  }
  EXPECT_NEAR(got.norm / want.norm, 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Quantized, Recipes, testing::Range<size_t>(0, recipes().size()),
                         [](const auto& info) { return name_of(recipes()[info.param]); });

namespace {

// Two steps with delayed scaling from the same weights: the second has a history.
struct TwoSteps {
  StepResult first, second;
  Tensors states;
};

// Trains with the states' updates, and reads them.
class Delayed {
 public:
  Delayed(TrainingSpec spec, const QuantizeConfig& config)
      : batch_(make_batch(spec.model, false)), training_(with_updates(std::move(spec), config), batch_) {}
  StepResult step(const Tensors& values) { return training_.step(values); }
  Tensors initial() const { return initial_values(training_.parameters()); }
  Tensors states() {
    Tensors out;
    for (const std::string& name : names_) out[name] = training_.read(name);
    return out;
  }

 private:
  TrainingSpec with_updates(TrainingSpec spec, const QuantizeConfig& config) {
    spec.edit_all = [this, config](Graph& g) {
      const QuantizeReport report = quantize(g, {config, 2, 7});
      names_ = report.states.names;
      Builder b(g);
      update_scales(b, config, report.states, report.states.seen, g.outputs.at("step"));
    };
    return spec;
  }

  std::vector<std::string> names_;
  Batch batch_;
  Training training_;
};

TwoSteps two_steps(const TrainingSpec& spec, const QuantizeConfig& config) {
  Delayed d(spec, config);
  const Tensors values = d.initial();
  TwoSteps out{d.step(values), d.step(values), {}};
  out.states = d.states();
  return out;
}

QuantizeConfig delayed(i64 length) {
  QuantizeConfig config = fp8(Recipe::delayed);
  config.amax_history_len = length, config.amax_algorithm = QuantizeConfig::AmaxAlgorithm::max;
  return config;
}

}  // namespace

// amax is that of all ranks that hold a part of a tensor: so the scales are the same, and the codes by them.
TEST(DelayedScaling, is_the_same_under_every_layout) {
  for (const int micro_batches : {1, 2}) {
    std::map<int, TwoSteps> on_one;
    for (const Way& way : ways()) {
      if (!on_one.contains(way.ranks_of_data))
        on_one[way.ranks_of_data] =
            two_steps(narrow_spec_of({}, make_mesh({}), {}, micro_batches * way.ranks_of_data), delayed(3));
      const TwoSteps &want = on_one.at(way.ranks_of_data),
                     got = two_steps(narrow_spec_of({}, way.mesh, way.style, micro_batches), delayed(3));
      const std::string what = fmt::format("{}, micro-batches {}", way.name, micro_batches);
      EXPECT_LT(worst(got.first, want.first), kEqual) << what;
      EXPECT_LT(worst(got.second, want.second), kEqual) << what;
      ASSERT_EQ(got.states.size(), size_t(2 * 6));
      for (const auto& [name, state] : want.states) EXPECT_EQ(got.states.at(name).v, state.v) << what << " " << name;
    }
  }
}

// The first step has no history, and casts by each tensor's own amax; it remembers the largest of its micro-batches.
TEST(DelayedScaling, begins_as_tensorwise_and_remembers) {
  const TwoSteps one = two_steps(spec_of({}, make_mesh({})), delayed(3)),
                 four = two_steps(spec_of({}, make_mesh({}), {}, 4), delayed(3));
  EXPECT_EQ(worst(one.first, step_of(spec_of(fp8(Recipe::tensorwise), make_mesh({})))), 0);
  for (const auto& [name, state] : one.states) {
    ASSERT_EQ(state.shape, (Shape{4, 3}));
    for (size_t t = 0; t < 3; ++t) {
      const double scale = state.v[t], old = state.v[6 + t], latest = state.v[9 + t], largest = std::max(old, latest);
      EXPECT_EQ(state.v[3 + t], 0) << name;  // of three slots two steps fill two
      EXPECT_GT(latest, 0) << name;
      EXPECT_EQ(float(scale), (t == 2 ? 57344.0f : 448.0f) / float(largest)) << name;
    }
    // A weight is the same in each micro-batch; inputs are cut, and the largest of them is remembered.
    EXPECT_EQ(four.states.at(name).v[10], state.v[10]) << name;
  }
  const std::string q = "decoder.layers.0.self_attention.linear_q.fp8_state";
  EXPECT_EQ(four.states.at(q).v[9], one.states.at(q).v[9]);  // the first layer's input does not depend on codes
}

// What the backward makes again is cast by the same scales, and seen once.
TEST(DelayedScaling, is_the_same_with_recomputation) {
  TrainingSpec spec = spec_of({}, make_mesh({1, 1, 2, 1}), {true, Order::block, false}, 2);
  const TwoSteps want = two_steps(spec, delayed(2));
  spec.recompute = {RecomputeConfig::Granularity::full, RecomputeConfig::Method::uniform, 1, {}};
  const TwoSteps got = two_steps(spec, delayed(2));
  EXPECT_EQ(worst(got.second, want.second), 0);
  for (const auto& [name, state] : want.states) EXPECT_EQ(got.states.at(name).v, state.v) << name;
}

// For one step all that linear layers read is 64 times as large: scales are too large, so codes saturate, and nothing
// becomes NaN. The next step has scales that are too small. Float codes tolerate that.
TEST(DelayedScaling, saturates_for_one_step_at_a_jump) {
  Delayed d(spec_of({}, make_mesh({})), delayed(1));
  const Tensors values = small_values(d.initial());
  Tensors jumped = values;
  for (auto& [name, w] : jumped)
    if (name.find("norm") != std::string::npos && name.find("final") == std::string::npos) multiply(w, 64);
  const Batch batch = make_batch(wide_llama(), false);
  Training plain(spec_of({}, make_mesh({})), batch);
  const StepResult calm = plain.step(values), wide = plain.step(jumped);
  d.step(values);
  const double before = cosine_of(d.step(values), calm);
  const auto scale = [&] { return d.states().at("decoder.layers.0.self_attention.linear_q.fp8_state").v[0]; };
  const double old = scale(), at_jump = cosine_of(d.step(jumped), wide);
  EXPECT_NEAR(old / scale(), 64, 0.01);  // by amax of the values, not of what was cut off
  EXPECT_LT(at_jump, 0.9);
  for (int i = 0; i < 2; ++i) EXPECT_GT(cosine_of(d.step(values), calm), 0.995) << i;
  EXPECT_GT(before, 0.995);
}

// A code would hide an infinity. The step is skipped, and the histories stay.
TEST(DelayedScaling, skips_a_step_that_is_not_finite) {
  Delayed d(spec_of({}, make_mesh({1, 1, 2, 1})), delayed(2));
  Tensors values = d.initial();
  d.step(values);
  const Tensors before = d.states();
  values.at("decoder.layers.0.mlp.linear_fc1.weight").v[7] = 1e39;  // infinite as f32
  EXPECT_THROW(d.step(values), Error);                              // "the step does not count"
  for (const auto& [name, state] : before) EXPECT_EQ(d.states().at(name).v, state.v) << name;
}

// Blocks that several ranks would hold are refused with the layer's name and the way out.
TEST(Quantized, blocks_that_straddle_ranks_are_refused) {
  const auto refused = [](const TrainingSpec& spec) { return error_of([&] { build_training(spec); }); };
  const std::string tokens =
      refused(spec_of(fp8(Recipe::blockwise), make_mesh({1, 2, 1, 1}), {false, Order::zigzag, false}));
  EXPECT_NE(tokens.find("decoder.layers.0.self_attention.linear_q.weight"), std::string::npos) << tokens;
  EXPECT_NE(tokens.find("ranks hold runs of 32"), std::string::npos) << tokens;
  EXPECT_NE(tokens.find("--fp8-recipe tensorwise"), std::string::npos) << tokens;
  TrainingSpec odd = spec_of(fp8(Recipe::tensorwise), make_mesh({}));
  odd.model.ffn_hidden_size = 24;
  EXPECT_NE(refused(odd).find("multiples of 16"), std::string::npos) << refused(odd);
}

}  // namespace megalith::harness
