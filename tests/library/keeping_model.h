// The toy model in two blocks (table and hidden layer; head and loss), with tensors of every dtype that it keeps and
// does not train.
//   s sequence  b batch  v vocabulary  h hidden  f ffn
#pragma once
#include "models/model.h"
#include "models/placement.h"
#include "ops/activate.h"
#include "ops/cross_entropy.h"
#include "ops/einsum.h"
#include "ops/embedding.h"
#include "ops/expert_counts.h"
#include "ops/scale.h"
#include "ops/sum.h"
#include "toy_model.h"

namespace megalith {

struct KeepingModel final : Model {
  static constexpr i64 kSeq = ToyModel::kSeq, kVocab = ToyModel::kVocab, kHidden = 8, kFfn = 12;
  static constexpr const char* kSeen = "words of the step";

  int blocks() const override { return 2; }
  std::string describe(const ModelPiece&) const override { return "toy"; }
  std::vector<DataInput> inputs() const override { return {{"tokens"}, {"labels"}, {"loss_mask"}}; }
  std::vector<std::string> terms() const override { return {"loss", "largest logit"}; }
  std::vector<TallySpec> tallies(const BuildMode&) const override { return {{kSeen, kHidden}}; }

  Built build(Builder& b, const ModelPiece& piece, const BuildMode& mode) const override {
    Built out;
    b.set_module("toy");
    Toy toy{b, out, mode, piece.suffix};
    Value z = piece.first == 0 ? hidden(toy) : Value{};
    if (piece.first > 0) {
      Type type{mode.precision.activations, {kSeq, mode.batch, kHidden}, {{{}, {{groups::data}}, {}}, {}, {}, {}}};
      type.layout.copy.insert(groups::context);  // as what was looked up in a table
      z = b.leaf({"in" + piece.suffix, type, Role::input, true});
      out.received = {z};
    }
    if (piece.last == 2)
      loss(toy, z);
    else
      out.sent = {z};
    return out;
  }

 private:
  struct Toy {
    Builder& b;
    Built& out;
    const BuildMode& mode;
    std::string suffix;

    Type batch(DType dtype) const { return {dtype, {kSeq, mode.batch}, {{{}, {{groups::data}}}, {}, {}, {}}}; }
    Value data(const char* name, DType dtype) const { return b.leaf({name + suffix, batch(dtype)}); }
    Value weight(const char* name, const Shape& dims, const Placement& placement, ParameterKind kind) const {
      const Type type{mode.precision.parameters, dims, layout_of(placement, int(dims.size()), {})};
      Parameter p{.name = name, .kind = kind, .type = type, .initial = {.std = 0.3}, .true_rows = dims[0]};
      return add_parameter(b, out, p);
    }
    Value keep(const char* name, const Type& type, double start = 0) const {
      return add_untrained(b, out,
                           {.name = name, .type = type, .initial = {.mean = start}, .true_rows = type.shape[0]});
    }
    void update(Value by) const { out.untrained.back().update = by; }
  };

  // z [s,b,h]
  static Value hidden(const Toy& t) {
    Builder& b = t.b;
    constexpr AxisSet tp = groups::tensor;
    const Value tokens = t.data("tokens", DType::i32), mask = t.data("loss_mask", DType::f32);
    const Value table = t.weight("table", {kVocab, kHidden}, kOnStream, ParameterKind::embedding);
    const Value words = b.add1(Embedding{}, {tokens, table}), x = b.relayout(words, tp, kCopy);
    const Value u = einsum(b, "sbh,fh->sbf", x, t.weight("up", {kFfn, kHidden}, split_along(0), ParameterKind::matrix));
    const Value y = einsum(b, "sbf,hf->sbh", activate(b, Act::gelu, u),
                           t.weight("down", {kHidden, kFfn}, split_along(1), ParameterKind::matrix));
    const Value mean = t.keep("mean", {DType::f32, {kHidden}, megalith::whole(1)});  // the words', a running one
    const Value sum = b.relayout(einsum(b, "sbh,sb->h", words, mask), groups::data, kSame);
    const Value more = b.add1(Scale{1, 0.1 / double(kSeq * t.mode.batch)}, {b.relayout(sum, groups::context, kSame)});
    t.update(b.add1(AddGrad{1}, {more, b.add1(Scale{1, -0.1}, {mean})}));
    t.keep("words", {DType::bf16, {kHidden}, megalith::whole(1)});  // their sum
    t.update(b.add1(Cast{1, DType::bf16}, {more}));
    t.keep("ids", t.batch(DType::i32), 7);  // 7 and the sum of the ids of each place
    t.update(tokens);
    t.keep("balance", {DType::f32, {kHidden}, megalith::whole(1)});  // moved once a step
    Untrained& balance = t.out.untrained.back();
    balance.follows = kSeen, balance.at_end = BalanceBias{0.01};
    t.out.tallies.push_back({kSeen, b.relayout(einsum(b, "sbh,sb->h", words, mask), groups::context, kSame)});
    return b.relayout(y, tp, kSame);
  }

  static void loss(const Toy& t, Value z) {
    Builder& b = t.b;
    constexpr AxisSet tp = groups::tensor;
    const Value labels = t.data("labels", DType::i32), mask = t.data("loss_mask", DType::f32);
    const Value logits = einsum(b, "sbh,vh->sbv", b.relayout(z, tp, kCopy),
                                t.weight("head", {kVocab, kHidden}, split_along(0), ParameterKind::output));
    const Value most = b.relayout(b.add1(VocabMax{kVocab}, {logits}), tp, kSame);
    const Value sums = b.relayout(b.add1(VocabSums{kVocab}, {logits, labels, most}), tp, kSame);
    const Value count = b.add1(Sum{"sb->", DType::f32}, {mask});
    t.out.terms = {{"loss", einsum(b, "sb,sb->", b.add1(CrossEntropy{}, {sums}), mask), count},
                   {"largest logit", einsum(b, "sb,sb->", most, mask), count}};
    t.keep("hidden", {DType::f64, {kHidden}, megalith::whole(1)}, 0.5);  // 0.5 and the sum of z
    const Value sum = b.relayout(einsum(b, "sbh,sb->h", z, mask), groups::data, kSame);
    t.update(b.add1(Cast{1, DType::f64}, {b.relayout(sum, groups::context, kSame)}));
  }
};

}  // namespace megalith
