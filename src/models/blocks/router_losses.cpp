#include "models/blocks/router_losses.h"

#include "models/moe_tallies.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/expert_counts.h"
#include "ops/reshape.h"
#include "ops/router_scores.h"
#include "ops/scale.h"
#include "ops/sum.h"
#include "ops/update.h"

namespace megalith {

namespace {

constexpr const char* kLossNames[] = {"load_balancing_loss", "seq_load_balancing_loss", "global_load_balancing_loss",
                                      "z_loss"};
constexpr const char* kLossFlags[] = {"aux_loss", "seq_aux_loss", "global_aux_loss"};
static_assert(std::size(kLossNames) == kRouterLosses);
enum { kAux, kSequence, kGlobal, kZ };

// By loss; 0: the model does not have it.
std::array<double, kRouterLosses> coefficients(const MoeConfig& c) {
  std::array<double, kRouterLosses> out{};
  for (size_t i = 0; i < c.router_load_balancing_type.size(); ++i)
    for (size_t kind = 0; kind < std::size(kLossFlags); ++kind)
      if (c.router_load_balancing_type[i] == kLossFlags[kind] && i < c.aux_loss_coeff.size())
        out[kind] += c.aux_loss_coeff[i];
  out[kZ] = c.z_loss_coeff.value_or(0);
  return out;
}

// The losses of one layer. Values are [] and sums over ranks.
class RouterLosses {
 public:
  RouterLosses(Parts& parts, const std::string& name, Value z)
      : p_(parts),
        b_(parts.b),
        m_(parts.config.moe),
        name_(name),
        z_(z),
        seq_(b_.type(z).dim(0)),
        dp_(b_.mesh().n(groups::data)),
        each_(parts.mode.batch / dp_) {}

  // Values that are summed over tokens belong to the layer, and are recomputed with it. Others are kept.
  void add_all(Value choice) {
    layer_ = mixture_layer(p_.config, b_.origin());
    const std::array<double, kRouterLosses> wanted = coefficients(m_);
    const DType dtype = b_.type(z_).dtype;
    Value q, chosen;
    if (wanted[kAux] != 0 || wanted[kSequence] != 0 || wanted[kGlobal] != 0) {
      q = b_.add1(Sum{"sbe->be", dtype}, {b_.add1(RouterScores{m_.router_score_function}, {z_})});
      chosen = b_.add1(Sum{"sbe->be", dtype}, {b_.add1(ExpertMap{m_.num_experts, dtype}, {choice})});
    }
    const Value l = wanted[kZ] != 0 ? b_.add1(LogSumExp{}, {z_}) : Value{};
    const Value squares = l ? einsum(b_, "sb,sb->", l, l) : Value{};
    const Origin layer = b_.origin();
    b_.set_module("router losses");
    if (wanted[kAux] != 0) keep(kAux, of_ranks(q, chosen));
    if (wanted[kSequence] != 0) keep(kSequence, of_sequences(q, chosen));
    if (wanted[kGlobal] != 0) keep(kGlobal, of_all(q, chosen));
    if (squares) keep(kZ, b_.add1(Scale{0, 1 / double(seq_ * each_)}, {squares}));
    b_.set_origin(layer);
  }

 private:
  void keep(int loss, Value value) {
    Value& sum = p_.router.sums[size_t(loss)];
    sum = sum ? add(b_, ",->", sum, value) : value;
    if (!p_.mode.tally_layers) return;
    const double values = loss == kGlobal ? 1 : double(dp_);  // the number of values in the sum
    p_.out.tallies.push_back({loss_tally(kLossNames[loss], layer_), b_.add1(Scale{0, 1 / values}, {value})});
  }

  // Sums the counts of each rank's own tokens: over tp and cp, or over all ranks with other tokens.
  Value counted(Value n, AxisSet over) { return b_.relayout(n, b_.type(n).layout.partial & over, kCopy); }

  Value over_rows(Value x) { return b_.add1(Sum{"be->e", b_.type(x).dtype}, {x}); }

  // E / (k tokens^2) sum n q
  Value product(const char* spec, Value q, Value n, double tokens, double among = 1) {
    const double k = double(m_.num_experts) / (double(m_.router_topk) * tokens * tokens * among);
    return b_.add1(Scale{0, k}, {einsum(b_, spec, q, n)});
  }

  // q and n [b,e]. The rows of each dp rank are summed to [g,e].
  Value of_ranks(Value q, Value n) {
    if (dp_ == 1) return product("e,e->", over_rows(q), counted(over_rows(n), groups::stage), double(seq_ * each_));
    const auto by_rank = [&](Value x) {
      const Value cut = b_.add1(Reshape{"(gm)e->gme", {{'g', dp_}, {'m', each_}}, {}}, {x});
      return b_.add1(Sum{"gme->ge", b_.type(x).dtype}, {cut});
    };
    return product("ge,ge->", by_rank(q), counted(by_rank(n), {groups::context, groups::tensor}), double(seq_ * each_));
  }

  Value of_sequences(Value q, Value n) {
    return product("be,be->", q, counted(n, {groups::context, groups::tensor}), double(seq_), double(each_));
  }

  // A leaf of the layer holds the counts of the step's micro-batches so far.
  Value of_all(Value q, Value n) {
    const Value all = counted(over_rows(n), groups::stage);
    const Value before = b_.leaf({name_ + ".step_counts", b_.type(all), Role::scalar});
    const Value shares = b_.add1(CountShares{}, {b_.add1(Accumulate{1, true}, {before, all})});
    const double tokens = double(seq_ * p_.mode.batch);
    const Value sum = einsum(b_, "e,e->", over_rows(q), shares);
    return b_.add1(Scale{0, double(m_.num_experts) / tokens}, {sum});
  }

  Parts& p_;
  Builder& b_;
  const MoeConfig& m_;
  const std::string name_;
  const Value z_;
  const i64 seq_, dp_, each_;  // each: sequences of a dp rank
  i64 layer_ = 0;              // mixture_layer()
};

// The divisor of a term: the number of values in its sum, counted by one rank.
Value number_of_values(Parts& p, double values) {
  const Type number{accum_of(p.mode.precision.activations), {}, whole(0)};
  return p.b.relayout(p.b.add1(Scale{0, values}, {p.b.add1(Ones{number}, {})}), groups::data_context, kPartial);
}

}  // namespace

bool counts_choices(const Parts& p) { return p.mode.train && !router_terms(p.config.moe).empty(); }

void add_router_losses(Parts& parts, const std::string& name, Value z, Value choice) {
  ++parts.router.layers;
  RouterLosses(parts, name, z).add_all(choice);
}

Value count_choices(Parts& p, Value choice) {
  const Value map = p.b.add1(ExpertMap{p.config.moe.num_experts}, {choice});
  const Origin layer = p.b.origin();
  p.b.set_module("expert counts");  // belongs to no layer, so it is not recomputed with one
  const Value counts = p.b.add1(Sum{"sbe->e", DType::f32}, {map});
  p.b.set_origin(layer);
  return counts;
}

std::vector<std::string> router_terms(const MoeConfig& config) {
  std::vector<std::string> out;
  const std::array<double, kRouterLosses> wanted = coefficients(config);
  for (size_t i = 0; i < wanted.size() && config.num_experts > 0; ++i)
    if (wanted[i] != 0) out.push_back(kLossNames[i]);
  return out;
}

void add_router_terms(Parts& p) {
  if (p.router.layers == 0) return;
  p.b.set_module("router losses");
  const std::array<double, kRouterLosses> wanted = coefficients(p.config.moe);
  const Value tokens = p.step_tokens();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0) continue;
    const double each = i == kGlobal ? 1 : double(p.b.mesh().n(groups::data));  // number of a layer's values
    const Value sum = p.b.relayout(p.router.sums[i], groups::tensor, kSame);
    const Value seed = p.b.add1(Scale{0, wanted[i] / each}, {tokens});
    p.out.terms.push_back({kLossNames[i], sum, number_of_values(p, each * double(p.router.layers)), seed});
  }
}

}  // namespace megalith
