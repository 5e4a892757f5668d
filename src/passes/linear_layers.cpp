#include "passes/linear_layers.h"

#include <algorithm>

#include "graph/relayout_op.h"
#include "ops/einsum.h"
#include "ops/quantized_grouped_product.h"

namespace megalith {

std::optional<PlainProduct> plain_product(const Node& n) {
  if (const auto* e = n.op.get_if<Einsum>(); e && !e->accumulate && !e->plus && !e->bias)
    return PlainProduct{e->spec, e->dtype};
  if (const auto* g = n.op.get_if<GroupedProduct>(); g && !g->accumulate)
    return PlainProduct{g->spec, g->dtype, true, g->filled};
  return {};
}

AnyOp of_codes(const PlainProduct& plain, const Coding& x, const Coding& w, Product product) {
  if (plain.grouped) {
    QuantizedGroupedProduct op{plain.spec, plain.dtype, x.format, w.format};
    op.filled = plain.filled;
    return op;
  }
  QuantizedProduct op{plain.spec, plain.dtype, x.format, w.format, x.box, w.box};
  op.fast = product == Product::forward && reads_amax(x.scaling);  // as Transformer Engine
  return op;
}

namespace {

// The value before its relayouts.
Value before_relayouts(const Graph& g, Value v) {
  while (g.info(v).node >= 0 && g.nodes[size_t(g.info(v).node)].op.get_if<Relayout>())
    v = g.nodes[size_t(g.info(v).node)].ins[0];
  return v;
}

// The nodes of the layer's backward, which the products' grad made: dx = dy w, and dw = dy x of the same dy. Of experts
// the backward may compute x again, so that it has another x; and in parts of rows also y.
void find_backward(const Graph& g, LinearLayer& layer) {
  std::vector<Value> dys, xs;
  for (const int i : layer.forward) xs.push_back(before_relayouts(g, g.nodes[size_t(i)].ins[0]));
  const auto visit = [&](const std::string& spec, auto&& f) {
    for (int i = 0; i < int(g.nodes.size()); ++i)
      if (const auto e = plain_product(g.nodes[size_t(i)]); e && g.nodes[size_t(i)].phase == Phase::backward)
        if (e->spec == spec && e->grouped == layer.grouped) f(i, g.nodes[size_t(i)]);
  };
  visit(layer.spec.data(), [&](int i, const Node& n) {
    if (n.ins[1] == layer.weight) layer.data.push_back(i), dys.push_back(n.ins[0]);
  });
  const Shape& shape = g.type(layer.weight).shape;
  visit(layer.spec.weight(), [&](int i, const Node& n) {
    const bool of_x = layer.grouped || std::ranges::count(xs, before_relayouts(g, n.ins[1]));
    if (std::ranges::count(dys, n.ins[0]) && of_x && g.type(n.outs[0]).shape == shape) layer.gradient.push_back(i);
  });
  if (layer.grouped)
    visit(layer.spec.forward(), [&](int i, const Node& n) {
      if (n.ins[1] == layer.weight) layer.forward.push_back(i);
    });
}

}  // namespace

bool is_linear_weight(const std::string& parameter) {
  constexpr std::string_view kWeight = ".weight";
  if (!parameter.ends_with(kWeight)) return false;
  const std::string path = parameter.substr(0, parameter.size() - kWeight.size());
  const std::string module = path.substr(path.rfind('.') + 1);
  return module.starts_with("linear_") || module.starts_with("eh_proj") || module.ends_with("_latent_proj");
}

bool is_head_weight(const std::string& parameter) {
  return parameter.ends_with("output_layer.weight") || parameter.ends_with("word_embeddings.weight");
}

void check_sizes(const QuantizeConfig& config, const LinearLayer& layer, const Shape& weight) {
  const i64 multiple = feature_multiple(config);
  i64 inputs = 1, outputs = 1;
  for (size_t d = layer.grouped ? 1 : 0; d < weight.size(); ++d)
    (layer.spec.x.find(layer.spec.w[d]) != std::string::npos ? inputs : outputs) *= weight[d];
  check(inputs % multiple == 0 && outputs % multiple == 0,
        "{} has {} inputs and {} outputs, and the recipe {} wants multiples of {}: change these sizes, or {}",
        layer.name, inputs, outputs, name_of_recipe(config), multiple,
        is_head_weight(layer.name) ? "leave --fp8-head out" : "train in bf16");
}

std::vector<LinearLayer> linear_layers(const Graph& g, bool with_head) {
  std::vector<LinearLayer> out;
  const auto is_wanted = [&](const std::string& name) {
    return is_linear_weight(name) || (with_head && is_head_weight(name));
  };
  const auto at = [&](Value w) { return std::ranges::find(out, w, &LinearLayer::weight); };
  for (int i = 0; i < int(g.nodes.size()); ++i) {
    const Node& n = g.nodes[size_t(i)];
    const auto e = plain_product(n);
    if (!e || n.phase != Phase::forward) continue;
    const ValueInfo& w = g.info(n.ins[1]);
    if (w.node >= 0 || w.role != Role::parameter || !is_wanted(w.name)) continue;
    if (at(n.ins[1]) == out.end())
      out.push_back({.name = w.name,
                     .weight = n.ins[1],
                     .spec = LinearSpec(e->spec),
                     .grouped = e->grouped,
                     .number = n.origin.stack.empty() ? n.origin.layer : -1});
    at(n.ins[1])->forward.push_back(i);
  }
  for (LinearLayer& layer : out) find_backward(g, layer);
  return out;
}

}  // namespace megalith
