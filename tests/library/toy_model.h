// A language model of one hidden layer: a token's logits come from the token before. Written outside of src/models, as
// another program would.
//   s sequence  b batch  v vocabulary  h hidden  f ffn
#pragma once
#include "models/model.h"
#include "models/placement.h"
#include "ops/activate.h"
#include "ops/cross_entropy.h"
#include "ops/einsum.h"
#include "ops/embedding.h"
#include "ops/scale.h"
#include "ops/sum.h"

namespace megalith {

struct ToyModel final : Model {
  static constexpr i64 kSeq = 16, kVocab = 24, kHidden = 8, kFfn = 12;

  int blocks() const override { return 1; }
  std::string describe(const ModelPiece&) const override { return "toy"; }
  std::vector<DataInput> inputs() const override { return {{"tokens"}, {"labels"}, {"loss_mask"}}; }
  std::vector<std::string> terms() const override { return {"loss", "largest logit"}; }

  Built build(Builder& b, const ModelPiece&, const BuildMode& mode) const override {
    Built out;
    const auto data = [&](const char* name, DType dtype) {
      return b.leaf({name, {dtype, {kSeq, mode.batch}, {{{}, {{groups::data}}}, {}, {}, {}}}});
    };
    const auto weight = [&](const char* name, const Shape& dims, const Placement& placement, ParameterKind kind) {
      const Type type{mode.precision.parameters, dims, layout_of(placement, int(dims.size()), {})};
      Parameter p{.name = name, .kind = kind, .type = type, .initial = {.std = 0.3}, .true_rows = dims[0]};
      return add_parameter(b, out, p);
    };
    constexpr AxisSet tp = groups::tensor;
    const Value tokens = data("tokens", DType::i32), labels = data("labels", DType::i32);
    const Value mask = data("loss_mask", DType::f32);
    b.set_module("toy");
    const Value table = weight("table", {kVocab, kHidden}, kOnStream, ParameterKind::embedding);
    const Value words = b.add1(Embedding{}, {tokens, table}), x = b.relayout(words, tp, kCopy);
    const Value u = einsum(b, "sbh,fh->sbf", x, weight("up", {kFfn, kHidden}, split_along(0), ParameterKind::matrix));
    const Value y = einsum(b, "sbf,hf->sbh", activate(b, Act::gelu, u),
                           weight("down", {kHidden, kFfn}, split_along(1), ParameterKind::matrix));
    const Value z = b.relayout(b.relayout(y, tp, kSame), tp, kCopy);
    const Value logits =
        einsum(b, "sbh,vh->sbv", z, weight("head", {kVocab, kHidden}, split_along(0), ParameterKind::output));
    const Value most = b.relayout(b.add1(VocabMax{kVocab}, {logits}), tp, kSame);
    const Value sums = b.relayout(b.add1(VocabSums{kVocab}, {logits, labels, most}), tp, kSame);
    const Value count = b.add1(Sum{"sb->", DType::f32}, {mask});
    out.terms = {{"loss", einsum(b, "sb,sb->", b.add1(CrossEntropy{}, {sums}), mask), count},
                 {"largest logit", einsum(b, "sb,sb->", most, mask), count}};
    const Type kept{DType::f32, {kHidden}, megalith::whole(1)};  // the words' running mean
    const Value mean = add_untrained(b, out, {.name = "mean", .type = kept, .true_rows = kHidden});
    const Value sum = b.relayout(einsum(b, "sbh,sb->h", words, mask), groups::data, kSame);
    const Value more = b.add1(Scale{1, 0.1 / double(kSeq * mode.batch)}, {b.relayout(sum, groups::context, kSame)});
    out.untrained[0].update = b.add1(AddGrad{1}, {more, b.add1(Scale{1, -0.1}, {mean})});
    return out;
  }
};

}  // namespace megalith
