// The linear layers of a graph, before anything is fused: found by their parameters' names.
#pragma once
#include <string>
#include <vector>

#include "ops/einsum.h"
#include "passes/quantize_recipe.h"

namespace megalith {

// A linear layer's weight, and the products that read it or compute its gradient, as nodes.
struct LinearLayer {
  std::string name;
  Value weight;
  LinearSpec spec;
  i64 number = -1;  // in the stack of all layers; -1: in none, or in another stack
  std::vector<int> forward, data, gradient;
};

// In the order of their first products.
std::vector<LinearLayer> linear_layers(const Graph& g);

// Error if the recipe's blocks do not divide the sizes of the layer, whose weight has this shape.
void check_sizes(const QuantizeConfig& config, const LinearLayer& layer, const Shape& weight);

// The node's op if it is a product without a fused operation; else nullptr.
const Einsum* plain_product(const Node& n);

}  // namespace megalith
