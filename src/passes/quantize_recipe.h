// How each recipe quantizes the operands of a linear layer's three products.
#pragma once
#include "ops/quantize.h"
#include "passes/quantize.h"

namespace megalith {

enum class Tensor { input, weight, gradient };  // x, w, dy
enum class Product { forward, data, weight };   // y, dx, dw

struct Coding {
  CodeFormat format = CodeFormat::e4m3;
  Scaling scaling = Scaling::quotient;
  Shape box;
  bool rotated = false, stochastic = false;
  auto operator<=>(const Coding&) const = default;
};

// The letters of a layer: x "sbh", w "fh", y "sbf".
struct LinearSpec {
  std::string x, w, y;
  explicit LinearSpec(const std::string& spec);
  std::string forward() const { return x + "," + w + "->" + y; }
  std::string data() const { return y + "," + w + "->" + x; }
  std::string weight() const { return y + "," + x + "->" + w; }
  const std::string& of(Tensor t) const { return t == Tensor::input ? x : t == Tensor::weight ? w : y; }
};

// Of operand t, of this type, in a product.
Coding coding_of(const QuantizeConfig& config, const LinearSpec& spec, Product product, Tensor t, const Mesh& mesh,
                 const Type& type);

// The number of which a layer's inputs and outputs must be multiples.
i64 feature_multiple(const QuantizeConfig& config);

}  // namespace megalith
