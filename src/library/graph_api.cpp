// The C interface for the caller's own models.
#include <algorithm>
#include <memory>

#include "library/given_model.h"
#include "library/handles.h"
#include "models/placement.h"
#include "ops/activate.h"
#include "ops/add.h"
#include "ops/cross_entropy.h"
#include "ops/einsum.h"
#include "ops/embedding.h"
#include "ops/rms_norm.h"
#include "ops/sum.h"

using namespace megalith;

template <class F>
static mgl_status on(mgl_graph* graph, F&& f) noexcept {
  bool is_alive = false;
  const mgl_status status = call([&] {
    is_alive = graphs().has(graph);
    want(is_alive, "the graph is null, or the model's function has returned");
    want(graph->failed.empty(), "a call before failed: {}", graph->failed);
    f(*graph);
  });
  if (status != MGL_OK && is_alive && graph->failed.empty()) graph->failed = last_error();
  return status;
}

// Runs a call that adds a value.
template <class F>
static mgl_value adds(mgl_graph* graph, F&& f) noexcept {
  mgl_value number = -1;
  on(graph, [&](mgl_graph& g) {
    g.values.push_back(f(g));
    number = mgl_value(g.values.size()) - 1;
  });
  return number;
}

static Value value_of(const mgl_graph& g, mgl_value number) {
  want(number >= 0 && size_t(number) < g.values.size(), "value {}: this graph has {}", number, g.values.size());
  return g.values[size_t(number)];
}

static std::string text_of(const char* text, const char* what) {
  want(text != nullptr && *text != 0, "{} is null or empty", what);
  return text;
}

static Value data_leaf(mgl_graph& g, const std::string& name) {
  const std::vector<std::string> names = {"tokens", "labels", "position_ids", "loss_mask"};
  want(std::ranges::find(names, name) != names.end(), "data '{}': want tokens, labels, position_ids or loss_mask",
       name);
  const DType dtype = name == "loss_mask" ? DType::f32 : DType::i32;
  return g.b.leaf({name, {dtype, {g.seq_length, g.mode.batch}, {{{}, {{groups::data}}}, {}, {}, {}}}});
}

static Value weight(mgl_graph& g, const std::string& name, ParameterKind kind, const Shape& dims, int split,
                    const Initial& initial) {
  for (const i64 d : dims) want(d > 0, "weight {} has a dimension of {}: want 1 or more", name, d);
  want(split >= -1 && split < int(dims.size()), "weight {}: split {}: want -1 to {}", name, split, dims.size() - 1);
  want(!name.starts_with("optimizer."), "weight {}: names of the optimizer's state begin with 'optimizer.'", name);
  const Placement placement = split < 0 ? kOnStream : split_along(split);
  const Type type{g.mode.precision.parameters, dims, layout_of(placement, int(dims.size()), {})};
  Parameter p{.name = name, .kind = kind, .type = type, .initial = initial, .true_rows = dims[0]};
  return add_parameter(g.b, g.out, p);
}

static void cross_entropy(mgl_graph& g, Value logits) {
  want(g.out.terms.empty(), "the model has a loss already");
  const Type& type = g.b.type(logits);
  want(type.ndim() == 3 && type.shape[2] == g.vocab_size, "logits of {} dimensions, the last {}: want 3, and {}",
       type.ndim(), type.shape.back(), g.vocab_size);
  const Value labels = data_leaf(g, "labels"), mask = data_leaf(g, "loss_mask");
  const Value most = g.b.relayout(g.b.add1(VocabMax{g.vocab_size}, {logits}), groups::tensor, kSame);
  const Value sums = g.b.relayout(g.b.add1(VocabSums{g.vocab_size}, {logits, labels, most}), groups::tensor, kSame);
  const Value losses = g.b.add1(CrossEntropy{}, {sums});
  const Value counted = g.b.add1(Sum{"sb->", DType::f32}, {mask});
  g.out.terms = {{"lm loss", einsum(g.b, "sb,sb->", losses, mask), counted}};
}

extern "C" {

mgl_status mgl_session_new_model(const mgl_config* config, const mgl_session_options* options, mgl_model_fn model,
                                 void* user, mgl_session** out) {
  if (!model) return call([] { want(false, "the model's function is null"); });
  return new_session(config, options, std::make_shared<GivenModel>(model, user), out);
}

mgl_value mgl_graph_data(mgl_graph* graph, const char* name) {
  return adds(graph, [&](mgl_graph& g) { return data_leaf(g, text_of(name, "the data's name")); });
}

mgl_value mgl_graph_weight(mgl_graph* graph, const char* name, int kind, const int64_t* dims, int ndim, int split,
                           double mean, double std) {
  return adds(graph, [&](mgl_graph& g) {
    const std::string given = text_of(name, "a weight's name");
    want(dims != nullptr && ndim >= 1 && ndim <= MGL_MAX_DIMS, "weight {} has {} dimensions: want 1 to {}", given, ndim,
         int(MGL_MAX_DIMS));
    constexpr ParameterKind kinds[] = {ParameterKind::matrix, ParameterKind::vector, ParameterKind::embedding,
                                       ParameterKind::output};
    want(kind >= 0 && kind < int(std::size(kinds)), "weight {} is of kind {}: want 0 to 3", given, kind);
    return weight(g, given, kinds[kind], Shape(dims, dims + ndim), split, {.std = std, .mean = mean});
  });
}

mgl_value mgl_graph_embedding(mgl_graph* graph, mgl_value ids, mgl_value table) {
  return adds(graph, [&](mgl_graph& g) { return g.b.add1(Embedding{}, {value_of(g, ids), value_of(g, table)}); });
}

mgl_value mgl_graph_einsum(mgl_graph* graph, const char* spec, mgl_value x, mgl_value w) {
  return adds(graph, [&](mgl_graph& g) {
    return einsum(g.b, text_of(spec, "the product's spec"), value_of(g, x), value_of(g, w));
  });
}

mgl_value mgl_graph_add(mgl_graph* graph, const char* spec, mgl_value x, mgl_value y) {
  return adds(graph,
              [&](mgl_graph& g) { return add(g.b, text_of(spec, "the sum's spec"), value_of(g, x), value_of(g, y)); });
}

mgl_value mgl_graph_activate(mgl_graph* graph, int activation, mgl_value x) {
  return adds(graph, [&](mgl_graph& g) {
    want(activation >= MGL_GELU && activation <= MGL_RELU, "activation {}: want 0 to 4", activation);
    return activate(g.b, Act(activation), value_of(g, x));
  });
}

mgl_value mgl_graph_rms_norm(mgl_graph* graph, const char* letters, mgl_value x, mgl_value w, double eps) {
  return adds(graph, [&](mgl_graph& g) {
    return rms_norm(g.b, text_of(letters, "the norm's letters"), value_of(g, x), value_of(g, w), eps);
  });
}

mgl_value mgl_graph_copy_to_ranks(mgl_graph* graph, mgl_value x) {
  return adds(graph, [&](mgl_graph& g) { return g.b.relayout(value_of(g, x), groups::tensor, kCopy); });
}

mgl_value mgl_graph_sum_over_ranks(mgl_graph* graph, mgl_value x) {
  return adds(graph, [&](mgl_graph& g) { return g.b.relayout(value_of(g, x), groups::tensor, kSame); });
}

mgl_status mgl_graph_cross_entropy(mgl_graph* graph, mgl_value logits) {
  return on(graph, [&](mgl_graph& g) { cross_entropy(g, value_of(g, logits)); });
}

}  // extern "C"
