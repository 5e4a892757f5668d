// The linear layers of a graph, before anything is fused: found by their parameters' names.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "passes/quantize_recipe.h"

namespace megalith {

// A linear layer's weight, and the products that read it or compute its gradient, as nodes.
struct LinearLayer {
  std::string name;
  Value weight;
  LinearSpec spec;
  bool grouped = false;  // of experts: products are grouped (ops/grouped_product.h)
  i64 number = -1;       // in the stack of all layers; -1: in none, or in another stack
  std::vector<int> forward = {}, data = {}, gradient = {};
};

// In the order of their first products. with_head: the product with the vocabulary is one of them.
std::vector<LinearLayer> linear_layers(const Graph& g, bool with_head);

// Error if the recipe's blocks do not divide the sizes of the layer, whose weight has this shape.
void check_sizes(const QuantizeConfig& config, const LinearLayer& layer, const Shape& weight);

// A product of values without a fused operation: of a matrix, or grouped by experts.
struct PlainProduct {
  std::string spec;
  DType dtype = DType::f32;  // of its result
  bool grouped = false;
  double filled = 1;  // as in GroupedProduct
};
std::optional<PlainProduct> plain_product(const Node& n);

// The same product of codes of its operands.
AnyOp of_codes(const PlainProduct& plain, const Coding& x, const Coding& w, Product product);

}  // namespace megalith
