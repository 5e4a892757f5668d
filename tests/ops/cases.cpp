#include "tests/ops/cases.h"

#include <cmath>

namespace megalith::harness {

Sizes layout_sizes() {
  Sizes s = {{'n', 2}, {'2', 2}, {'4', 4}};
  for (char c : std::string("abcdefghrstvk")) s[c] = 4;
  return s;
}

Sizes odd_sizes() {
  return {{'a', 3}, {'b', 3}, {'c', 2}, {'d', 6},  {'e', 6},  {'f', 9}, {'g', 3}, {'h', 7},
          {'r', 2}, {'s', 5}, {'t', 5}, {'v', 11}, {'k', 13}, {'n', 2}, {'2', 2}, {'4', 4}};
}

namespace {

class Table {
 public:
  explicit Table(const Sizes& sizes) : size_(sizes) {}

  std::vector<OpCase> build() {
    products();
    elementwise();
    norms();
    attention();
    embedding_and_loss();
    routing();
    update();
    return std::move(cases_);
  }

 private:
  Shape shape(const std::string& letters) const {
    Shape s;
    for (char c : letters) s.push_back(size_.at(c));
    return s;
  }
  u64 seed() { return ++seed_; }
  // Float inputs that want a gradient, and that do not.
  CaseInput value(const std::string& letters) { return {random_tensor(shape(letters), seed()), true}; }
  CaseInput constant(const std::string& letters) { return {random_tensor(shape(letters), seed()), false}; }
  CaseInput positive(const std::string& letters, bool wants_grad) {
    CaseInput in{random_tensor(shape(letters), seed()), wants_grad};
    for (double& x : in.data.v) x = 0.5 + std::abs(x);
    return in;
  }
  CaseInput integers(const std::string& letters, i64 below) {
    return {random_integers(shape(letters), below, seed()), false, DType::i32};
  }
  CaseInput rows() {  // sample numbers
    CaseInput in{filled(shape("b"), 0), false, DType::i64};
    for (size_t i = 0; i < in.data.v.size(); ++i) in.data.v[i] = double(5 + 3 * i);
    return in;
  }
  CaseInput starts() {  // documents of two tokens in every other sample
    CaseInput in{filled(shape("sb"), 0), false, DType::i32};
    const i64 b = size_.at('b');
    for (size_t i = 0; i < in.data.v.size(); ++i) in.data.v[i] = i64(i) % b % 2 ? double(i64(i) / b / 2 * 2) : 0;
    return in;
  }

  CaseInput lengths() {  // every other sequence ends early
    CaseInput in{filled(shape("b"), double(size_.at('t'))), false, DType::i32};
    for (size_t i = 1; i < in.data.v.size(); i += 2) in.data.v[i] -= 1;
    return in;
  }

  void grad(AnyOp op, std::vector<CaseInput> ins) { cases_.push_back({std::move(op), std::move(ins), true}); }
  void plain(AnyOp op, std::vector<CaseInput> ins) { cases_.push_back({std::move(op), std::move(ins), false}); }
  void at_update(AnyOp op, std::vector<CaseInput> ins) {
    cases_.push_back({std::move(op), std::move(ins), false, Phase::update});
  }

  void products() {
    for (const std::string spec :
         {"sbh,fh->sbf", "sbh,grdh->sbgrd", "sbh,nfh->sbnf", "sbgrd,hgrd->sbh", "sbh,sbh->sbh"}) {
      const auto in = split_spec(spec).first;
      grad(Einsum{spec, DType::f64}, {value(in[0]), value(in[1])});
    }
    grad(Einsum{"sb,sb->", DType::f64}, {value("sb"), constant("sb")});
    plain(Einsum{"sbf,sbh->fh", DType::f64, true, false}, {value("sbf"), value("sbh"), constant("fh")});
    Einsum adds{"sbh,fh->sbf", DType::f64};
    adds.plus = true;
    plain(adds, {value("sbh"), value("fh"), value("sbf")});
    adds.bias = true;
    plain(adds, {value("sbh"), value("fh"), value("sbf"), value("f")});
    adds.spec = "sbh,nfh->sbnf", adds.plus = false;
    plain(adds, {value("sbh"), value("nfh"), value("nf")});
    grad(Add{"sbh,sbh->sbh"}, {value("sbh"), value("sbh")});
    grad(Add{"sbh,h->sbh"}, {value("sbh"), value("h")});
    grad(Add{"sbgrd,grd->sbgrd"}, {value("sbgrd"), value("grd")});
    grad(Sum{"sbh->h", DType::f64}, {value("sbh")});
    grad(Sum{"sb->", DType::f64}, {value("sb")});
    plain(Broadcast{"h,sbh->sbh", DType::f64}, {value("h"), value("sbh")});
    plain(AddGrad{3}, {value("sbh"), value("sbh")});
  }

  void elementwise() {
    grad(Scale{3, 0.3}, {value("sbh")});
    grad(Cast{3, DType::f64}, {value("sbh")});
    plain(Quotient{}, {constant(""), positive("", false)});
    plain(Detach{3}, {value("sbh")});
    grad(Dropout{"sbh,b->sbh", 0.4, 3}, {value("sbh"), rows()});
    for (Act act : {Act::gelu, Act::gelu_tanh, Act::squared_relu, Act::tanh, Act::relu}) {
      grad(Activate{act, 3}, {value("sbf")});
      for (bool with_output : {false, true})
        for (bool bias : {false, true}) plain(ActivateGrad{act, 3, with_output, bias}, {value("sbf"), value("sbf")});
    }
    for (const Gate act : {Gate::silu, Gate::gelu_tanh, Gate::quick_gelu}) {
      grad(Swiglu{act}, {value("sbnf")});
      for (bool with_output : {false, true}) plain(SwigluGrad{with_output, act}, {value("sbf"), value("sbnf")});
    }
    CaseInput gate{random_tensor({size_.at('s'), size_.at('b'), 1}, seed()), true};
    for (const bool logistic : {true, false}) {
      grad(TokenGate{logistic}, {value("sbh"), gate});
      plain(TokenGateGrad{logistic}, {value("sbh"), value("sbh"), gate});
    }
    Rope rope{"sbgrd", {10000, size_.at('d') / 4 * 2}};  // half of the dims turn
    grad(rope, {value("sbgrd")});
    rope.x = "sbgd", rope.freq.dims = size_.at('d'), rope.positions = true;
    grad(rope, {value("sbgd"), integers("sb", 50)});
    rope.x = "sbrd", rope.positions = false, rope.heads = size_.at('r') - 1;
    grad(rope, {value("sbrd")});
    rope.heads = 0, rope.interleaved = true, rope.freq.dims = size_.at('d') / 4 * 2, rope.freq.width = 3;
    grad(rope, {value("sbrd")});
    rope.first = size_.at('d') / 2, rope.freq.scaling = {.kind = RopeScaling::Kind::yarn, .factor = 4};
    rope.freq.scaling.original_length = 2;
    grad(rope, {value("sbrd")});
    cuts();
    const i64 g = size_.at('g'), r = size_.at('r'), d = size_.at('d');
    grad(Reshape{"sgrd->s(grd)", {{'g', g}, {'r', r}, {'d', d}}, {}}, {value("sgrd")});
    CaseInput merged{random_tensor({size_.at('s'), g * r, d}, seed()), true};
    grad(Reshape{"s(gr)d->sgrd", {{'g', g}, {'r', r}}, {}}, {merged});
  }

  // Letters of sizes that no letter of the table has are those of layouts_test: 4 at every place.
  void cuts() {
    const i64 h = size_.at('h'), d = size_.at('d'), k = size_.at('k');
    grad(Cut{"sbh", 'h', 1, h - 1}, {value("sbh")});
    grad(Cut{"sbh", 's', 1, size_.at('s') - 1}, {value("sbh")});
    grad(Join{"sbd", 'd', h, k}, {value("sbh"), value("sbk")});
    grad(LatentKeys{d - 2, k, 2}, {value("sbgd"), value("sbk")});
    plain(LatentKeysGrad{h - 2, 2, k}, {value("sbgh"), value("sbgk")});
  }

  void norms() {
    grad(RmsNorm{"sbh"}, {value("sbh"), value("h")});
    grad(RmsNorm{"sbgrd"}, {value("sbgrd"), value("d")});
    plain(RmsNormGrad{"sbh", DType::f64}, {value("sbh"), value("sbh"), value("h"), positive("sb", false)});
    for (bool with_output : {false, true})
      for (bool bias : {false, true})
        plain(RmsNormGrad{"sbh", DType::f64, true, with_output, bias},
              {value("sbh"), value("sbh"), value("h"), positive("sb", false), value("sbh")});
    grad(LayerNorm{"sbh"}, {value("sbh"), value("h"), value("h")});
    plain(LayerNormGrad{"sbh", DType::f64},
          {value("sbh"), value("sbh"), value("h"), constant("sb"), positive("sb", false)});
    CaseInput mean = constant("sb"), rstd = positive("sb", false), residual = value("sbh");
    mean.like = rstd.like = 1;
    plain(LayerNormGrad{"sbh", DType::f64, true}, {value("sbh"), value("sbh"), value("h"), mean, rstd, residual});
    plain(LayerNormGrad{"sbh", DType::f64, false, true},
          {value("sbh"), value("sbh"), value("h"), mean, rstd, value("h")});
    for (bool bias : {false, true})
      plain(LayerNormGrad{"sbh", DType::f64, true, true, bias},
            {value("sbh"), value("sbh"), value("h"), mean, rstd, residual, value("h")});
  }

  void attention() {
    AttentionSpec at{.scale = 0.5, .dropout = 0.2, .seed = 5};
    grad(Attention{at}, {value("sbgrd"), value("tbgd"), value("tbgd"), rows()});
    CaseInput o = constant("sbgrd"), lse = positive("sbgr", false);
    o.like = lse.like = 1;
    plain(AttentionGrad{at}, {value("sbgrd"), value("sbgrd"), value("tbgd"), value("tbgd"), o, lse, rows()});
    other_values(at);
    packed_attention();
    const AttentionSpec cut{.scale = 0.5, .window = 3, .starts = true};
    CaseInput v = value("tbgd"), o_before = value("sbgrd"), lse_before = value("sbgr");
    v.like = 1, o_before.like = lse_before.like = 0;
    plain(AttentionPart{at}, {value("sbgrd"), value("tbgd"), v, rows()});
    plain(AttentionPart{cut, 2, true, true},
          {value("sbgrd"), value("tbgd"), v, rows(), starts(), o_before, lse_before});
    plain(AttentionPartGrad{at}, {value("sbgrd"), value("sbgrd"), value("tbgd"), value("tbgd"), o, lse, rows()});
    AttentionSpec odd{.scale = 0.7, .window = 3, .alibi = true, .starts = true};
    grad(Attention{odd}, {value("sbgrd"), value("tbgd"), value("tbgd"), rows(), starts()});
    odd.alibi_scaled = true;
    grad(Attention{odd}, {value("sbgrd"), value("tbgd"), value("tbgd"), rows(), starts()});
    const AttentionSpec both{.scale = 0.5, .causal = false, .lengths = true};
    grad(Attention{both}, {value("sbgrd"), value("tbgd"), value("tbgd"), rows(), lengths()});
    plain(AttentionGrad{both},
          {value("sbgrd"), value("sbgrd"), value("tbgd"), value("tbgd"), o, lse, rows(), lengths()});
    relative_positions();
    const Shape q = shape("bgrd"), k = shape("bgd");
    CaseInput length{filled({}, 1), false, DType::i32};
    CaseInput new_q{random_tensor({2, q[0], q[1], q[2], q[3]}, seed())},
        new_k{random_tensor({2, k[0], k[1], k[2]}, seed())};
    plain(CacheWrite{}, {constant("tbgd"), new_k, length});
    plain(CachedAttention{AttentionSpec{.scale = 0.5, .alibi = true}},
          {new_q, constant("tbgd"), constant("tbgd"), length});
  }

  // Buckets of both sides, with lengths; of one side. The table is not split: its buckets are few.
  void relative_positions() {
    CaseInput o = constant("sbgrd"), lse = positive("sbgr", false);
    o.like = lse.like = 1;
    const CaseInput table{random_tensor({size_.at('g'), size_.at('r'), 4}, seed()), true};
    const AttentionSpec both{
        .scale = 0.5, .causal = false, .dropout = 0.2, .seed = 5, .lengths = true, .buckets = 4, .max_distance = 4};
    const AttentionSpec back{.scale = 1, .buckets = 4, .max_distance = 5};
    grad(Attention{both}, {value("sbgrd"), value("tbgd"), value("tbgd"), rows(), lengths(), table});
    grad(Attention{back}, {value("sbgrd"), value("tbgd"), value("tbgd"), rows(), table});
    plain(AttentionGrad{both, DType::f64},
          {value("sbgrd"), value("sbgrd"), value("tbgd"), value("tbgd"), o, lse, rows(), lengths(), table});
  }

  // Values of another size than queries and keys.
  void other_values(const AttentionSpec& at) {
    CaseInput o = constant("sbgrk"), lse = positive("sbgr", false), length{filled({}, 1), false, DType::i32};
    o.like = lse.like = 1;
    grad(Attention{at}, {value("sbgrd"), value("tbgd"), value("tbgk"), rows()});
    plain(AttentionGrad{at}, {value("sbgrk"), value("sbgrd"), value("tbgd"), value("tbgk"), o, lse, rows()});
    plain(AttentionPartGrad{at}, {value("sbgrk"), value("sbgrd"), value("tbgd"), value("tbgk"), o, lse, rows()});
    const Shape q = shape("bgrd");
    CaseInput new_q{random_tensor({2, q[0], q[1], q[2], q[3]}, seed())};
    plain(CachedAttention{AttentionSpec{.scale = 0.5}}, {new_q, constant("tbgd"), constant("tbgk"), length});
  }

  void packed_attention() {
    const i64 g = size_.at('g'), r = size_.at('r');
    const AttentionSpec at{.scale = 0.5, .window = 3, .groups = g, .heads_per_group = r};
    const Shape all = {size_.at('s'), size_.at('b'), g * (r + 2), size_.at('d')};
    const CaseInput qkv{random_tensor(all, seed()), true};
    grad(Attention{at}, {qkv, rows()});
    CaseInput o = constant("sbgrd"), lse = positive("sbgr", false);
    o.like = lse.like = 0;
    plain(AttentionGrad{at}, {value("sbgrd"), qkv, o, lse, rows()});
  }

  void embedding_and_loss() {
    const i64 v = size_.at('v'), vocab = v - 1;
    grad(Embedding{}, {integers("sb", v), value("vh")});
    plain(EmbeddingGrad{DType::f64}, {integers("sb", v), value("sbh"), value("vh")});
    plain(EmbeddingGrad{DType::f64, true, false}, {integers("sb", v), value("sbh"), constant("vh")});
    plain(VocabMax{vocab}, {value("sbv")});
    grad(VocabSums{vocab}, {value("sbv"), integers("sb", vocab), constant("sb")});
    plain(VocabMaxSums{vocab}, {value("sbv"), integers("sb", vocab)});
    plain(VocabLoss{vocab}, {constant("sb"), value("sbv"), integers("sb", vocab)});
    plain(VocabSumsGrad{vocab}, {value("nsb"), value("sbv"), integers("sb", vocab), constant("sb")});
    grad(CrossEntropy{}, {positive("nsb", true)});
    plain(CrossEntropyGrad{}, {value("sb"), positive("nsb", true)});
  }

  // Two of the experts. Their scores differ enough that small changes choose no others.
  void routing() {
    const i64 e = size_.at('e');
    CaseInput z{filled(shape("sbe"), 0), true}, choice{filled({size_.at('s'), size_.at('b'), 2}, 0), false, DType::i32};
    for (size_t i = 0; i < z.data.v.size(); ++i) z.data.v[i] = 0.2 * double((7 * (i64(i) / e) + 5 * i64(i)) % 11) - 1;
    for (size_t i = 0; i < choice.data.v.size(); ++i) choice.data.v[i] = double(i % 2 + i / 2 % 2);
    for (const RouterScore score : {RouterScore::softmax, RouterScore::sigmoid, RouterScore::sqrtsoftplus}) {
      RouteSpec at{.score = score, .topk = 2, .scaling = 1.5};
      grad(Route{at}, {z});
      plain(RouteGrad{at}, {value("sb2"), value("sbe"), choice});
      at.pre_softmax = at.bias = true;
      grad(Route{at}, {z, constant("e")});
      at.groups = 2, at.group_topk = 1, at.group_best = 2, at.bias = false, at.by = true;
      grad(Route{at}, {z, constant("sbe")});
      grad(RouterScores{score}, {z});
      plain(RouterScoresGrad{score}, {value("sbe"), value("sbe")});
    }
    grad(LogSumExp{}, {z});
    plain(LogSumExpGrad{}, {value("sb"), value("sbe")});
    plain(ExpertMap{e, DType::f64}, {choice});
    grad(Jitter{0.3, 3}, {value("sbh"), rows()});
    plain(FakeLogits{0, 3}, {value("sbe"), rows()});
    grad(FakeLogits{0.5, 3}, {value("sbe"), rows()});
    CaseInput p = positive("sb2", true);
    grad(ExpertCapacity{e, 100}, {p, choice});  // room for all: dropped tokens depend on the layout
    plain(ExpertCapacityGrad{}, {value("sb2"), choice});
    plain(CountShares{}, {positive("e", false)});
    CaseInput bias{random_integers({e}, 9, seed()), false, DType::f32}, counts = bias;
    counts.data = random_integers({e}, 9, seed()), counts.like = 0;
    at_update(BalanceBias{0.25}, {bias, counts, {{{4}, {2.0, 3.0, 0.5, 1.0}}}});
  }

  void update() {
    plain(Normalize{}, {constant("abc")});
    plain(Accumulate{2, false}, {constant("ab"), value("ab")});
    plain(MultiAccumulate{2, false}, {constant("ab"), value("ab"), constant("c"), value("c")});
    plain(AddInto{1, 2}, {constant("v"), value("n")});
    plain(ReadFrom{1, 3}, {constant("v")});
    at_update(SumSquares{2}, {constant("ab")});
    at_update(CountNonzeros{2}, {constant("ab")});
    at_update(MultiSumSquares{}, {constant("ab"), constant("c"), constant("abc")});
    at_update(StepScalars{1.0}, {positive("", false), positive("", false), positive("", false)});
    CaseInput scalars{{{4}, {2.0, 3.0, 0.5, 1.0}}}, step_scalars_in{{{4}, {0.01, 0.1, 0.1, 0.001}}};
    at_update(Update{.rule = AdamW{}, .ndim = 2},
              {constant("ab"), constant("ab"), constant("ab"), positive("ab", false), scalars, step_scalars_in});
    const MultiUpdate both{AdamW{}, true, {true, false}};
    std::vector<CaseInput> ins;
    for (const char* letters : {"a", "b"})
      for (int i = 0; i < 5; ++i) {
        ins.push_back(i == 3 ? positive(letters, false) : constant(letters));
        if (i > 0) ins.back().like = int(ins.size()) - 1 - i;
      }
    ins.push_back(scalars), ins.push_back(step_scalars_in);
    at_update(both, ins);
    at_update(Update{.rule = Sgd{}, .ndim = 2},
              {constant("ab"), constant("ab"), constant("ab"), scalars, step_scalars_in});
  }

  const Sizes& size_;
  u64 seed_ = 100;
  std::vector<OpCase> cases_;
};

}  // namespace

std::vector<OpCase> op_cases(const Sizes& sizes) { return Table(sizes).build(); }

std::vector<AnyOp> ops_without_gradient() {
  return {Broadcast{},
          RmsNormGrad{},
          LayerNormGrad{},
          ActivateGrad{},
          SwigluGrad{},
          AttentionGrad{},
          Detach{},
          Quotient{},
          LatentKeysGrad{},
          AttentionPart{},
          AttentionPartGrad{},
          EmbeddingGrad{},
          VocabMax{},
          VocabMaxSums{},
          VocabLoss{},
          VocabSumsGrad{},
          CrossEntropyGrad{},
          RouteGrad{},
          RouterScoresGrad{},
          ExpertMap{},
          LogSumExpGrad{},
          ExpertCapacityGrad{},
          Sinkhorn{},
          CountShares{},
          BalanceBias{},
          Ones{},
          AddGrad{},
          TokenGateGrad{},
          GatherWeightsGrad{},
          ExpertParts{},
          ExpertRows{},
          ExpertActivationGrad{},
          SumExpertRows{},
          DotExpertBias{},
          CacheWrite{},
          CachedAttention{},
          Accumulate{},
          MultiAccumulate{},
          AddInto{},
          ReadFrom{},
          SumSquares{},
          CountNonzeros{},
          MultiSumSquares{},
          StepScalars{},
          Normalize{},
          Update{},
          MultiUpdate{}};
}

}  // namespace megalith::harness
