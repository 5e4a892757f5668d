// A decoder layer's attention to another sequence.
#include "models/blocks/parts.h"
#include "ops/einsum.h"

namespace megalith {

namespace {

// The cross-attention of one layer. `name`: prefix of its parameters' names.
class CrossAttention {
 public:
  CrossAttention(Parts& parts, const std::string& name)
      : p_(parts),
        c_(parts.config),
        name_(name),
        g_(c_.groups()),
        r_(c_.heads_per_group()),
        d_(c_.kv_channels),
        h_(c_.hidden_size) {}

  CrossHeads heads(Value x, Value memory) {
    Value q = queries(x), k = keys("linear_k", memory), v = keys("linear_v", memory);
    q = with_bias(q), k = with_bias("linear_k", k), v = with_bias("linear_v", v);
    return {q, k, v};
  }

  Value operator()(Value x, Value memory) {
    const auto [q, k, v] = heads(x, memory);
    return output(core_attention(p_, name_, attention_scale(c_), q, k, v));
  }

  void cache(Value memory) {
    for (const auto& [weight, kept] : {std::pair{"linear_k", "keys"}, std::pair{"linear_v", "values"}}) {
      const Value y = with_bias(weight, keys(weight, memory));
      p_.b.add1(PutBack{}, {y, cache_leaf(kept, p_.b.type(y))});
    }
  }

  Value cached(Value x, i64 length) {
    const Value q = with_bias(queries(x));
    const Layout held{{{{groups::context, p_.style.cp_order}}, {{groups::data}}, {{groups::kv_heads}}, {}},
                      {},
                      groups::query_heads,
                      {}};
    const Type type{p_.b.type(q).dtype, {length, p_.mode.batch, g_, d_}, held};
    const auto kept = [&](const char* which) {
      return p_.b.relayout(cache_leaf(which, type), groups::context, kSame);  // few tokens, so cp has nothing to split
    };
    const Attention op{attention_spec(p_, name_, attention_scale(c_))};
    return output(p_.b.add1(op, {q, kept("keys"), kept("values"), p_.rows}));
  }

 private:
  static constexpr Placement kQueries = by_group(0, 1), kKeys = by_group(0);

  Value queries(Value x) {
    const Initial initial = initial_of(c_, c_.init_method_std, g_ * r_ * d_, h_);
    return einsum(p_.b, "sbh,grdh->sbgrd", x,
                  p_.matrix(name_ + "linear_q.weight", {g_, r_, d_, h_}, kQueries, initial));
  }
  Value with_bias(Value q) {
    return p_.biased(name_ + "linear_q", "sbgrd,grd->sbgrd", q, {g_, r_, d_}, c_.qkv_bias(), kQueries);
  }
  // Keys and values are one matrix.
  Value keys(const std::string& which, Value memory) {
    const Initial initial = initial_of(c_, c_.init_method_std, 2 * g_ * d_, h_);
    return einsum(p_.b, "sbh,gdh->sbgd", memory, p_.matrix(name_ + which + ".weight", {g_, d_, h_}, kKeys, initial));
  }
  Value with_bias(const std::string& which, Value k) {
    return p_.biased(name_ + which, "sbgd,gd->sbgd", k, {g_, d_}, c_.qkv_bias(), kKeys);
  }
  Value cache_leaf(const std::string& which, const Type& type) { return p_.b.leaf({name_ + which, type, Role::cache}); }
  Value output(Value o) { return attention_output(p_, name_, o); }

  Parts& p_;
  const ModelConfig& c_;
  const std::string name_;
  const i64 g_, r_, d_, h_;
};

}  // namespace

CrossHeads cross_heads(Parts& p, const std::string& name, Value x, Value memory) {
  return CrossAttention(p, name).heads(x, memory);
}

Value cross_attention_block(Parts& p, const std::string& name, Value x, Value memory) {
  return CrossAttention(p, name)(x, memory);
}

void cache_memory(Parts& p, const std::string& name, Value memory) { CrossAttention(p, name).cache(memory); }

Value cached_cross_attention(Parts& p, const std::string& name, Value x, i64 length) {
  return CrossAttention(p, name).cached(x, length);
}

}  // namespace megalith
