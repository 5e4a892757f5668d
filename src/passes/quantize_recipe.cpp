#include "passes/quantize_recipe.h"

namespace megalith {

namespace {

using Recipe = QuantizeConfig::Recipe;

constexpr i64 kBlock = 128, kMxBlock = 32, kNvBlock = 16;

// The dims of `letters` that `others` has too.
std::vector<int> shared_dims(const std::string& letters, const std::string& others) {
  std::vector<int> out;
  for (size_t d = 0; d < letters.size(); ++d)
    if (others.find(letters[d]) != std::string::npos) out.push_back(int(d));
  return out;
}

// The product's summed dims: features, or the tokens of a sequence. (Blocks of tokens end with their sequence, so
// they do not depend on the micro-batch size.)
std::vector<int> summed_dims(const LinearSpec& spec, Product product, Tensor t) {
  if (product == Product::weight) return {shared_dims(spec.of(t), t == Tensor::input ? spec.y : spec.x).at(0)};
  const std::string& with = product == Product::forward ? t == Tensor::input ? spec.w : spec.x
                            : t == Tensor::gradient     ? spec.w
                                                        : spec.y;
  return shared_dims(spec.of(t), with);
}

// n x n of a weight: of its outputs and its inputs.
Shape square(const LinearSpec& spec, const Shape& w, i64 n) {
  Shape out = row_box(w, shared_dims(spec.w, spec.y), n);
  const Shape inputs = row_box(w, shared_dims(spec.w, spec.x), n);
  for (size_t d = 0; d < out.size(); ++d) out[d] *= inputs[d];
  return out;
}

// The box of one scale. All of a weight has one, also if ranks share its experts.
Shape box_of(Tensor t, const Mesh& mesh, const Type& type) {
  return t == Tensor::weight ? type.shape : tensor_box(mesh, type);
}

}  // namespace

std::string_view name_of_recipe(const QuantizeConfig& c) {
  constexpr std::string_view names[] = {"delayed", "tensorwise", "blockwise", "mxfp8", "custom"};
  if (c.is_fp4()) return c.fp4_recipe == QuantizeConfig::Fp4Recipe::nvfp4 ? "nvfp4" : "custom";
  return names[int(c.recipe)];
}

QuantizeReport& QuantizeReport::operator+=(const QuantizeReport& o) {
  layers += o.layers, products += o.products;
  others.insert(others.end(), o.others.begin(), o.others.end());
  return *this;
}

LinearSpec::LinearSpec(const std::string& spec) {
  const auto [ins, outs] = split_spec(spec);
  x = ins.at(0), w = ins.at(1), y = outs.at(0);
}

i64 feature_multiple(const QuantizeConfig& c) { return !c.is_fp4() && c.recipe == Recipe::mxfp8 ? kMxBlock : kNvBlock; }

Coding coding_of(const QuantizeConfig& c, const LinearSpec& spec, Product product, Tensor t, const Mesh& mesh,
                 const Type& type) {
  const std::vector<int> summed = summed_dims(spec, product, t);
  if (c.is_fp4()) {
    const bool of_weight = t == Tensor::weight;
    return {CodeFormat::e2m1, Scaling::nv,
            of_weight ? square(spec, type.shape, kNvBlock) : row_box(type.shape, summed, kNvBlock),
            product == Product::weight, t == Tensor::gradient};
  }
  const bool wide = t == Tensor::gradient && c.format == QuantizeConfig::Format::hybrid;
  const CodeFormat format = wide ? CodeFormat::e5m2 : CodeFormat::e4m3;
  switch (c.recipe) {
    case Recipe::delayed:
      return {format, Scaling::kept, box_of(t, mesh, type)};
    case Recipe::tensorwise:
      return {format, Scaling::quotient, box_of(t, mesh, type)};
    case Recipe::blockwise:
      return {format, Scaling::power_of_two,
              t == Tensor::weight ? square(spec, type.shape, kBlock) : row_box(type.shape, summed, kBlock)};
    case Recipe::mxfp8:
      return {format, Scaling::mx, row_box(type.shape, summed, kMxBlock)};
    default:
      fail("the recipe {} of fp8 is not built", name_of_recipe(c));
  }
}

}  // namespace megalith
