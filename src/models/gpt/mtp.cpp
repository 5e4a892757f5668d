#include "models/gpt/mtp.h"

#include "models/gpt/shifted.h"
#include "ops/add.h"
#include "ops/detach.h"
#include "ops/einsum.h"
#include "ops/quotient.h"
#include "ops/scale.h"
#include "ops/sum.h"

namespace megalith {
namespace {

constexpr const char *kTokens = "tokens", *kLabels = "labels", *kMask = "loss_mask";

std::string step_tokens(i64 depth) { return fmt::format("{}.{}", kStepTokens, depth); }

Value detached(Builder& b, Value x) { return b.add1(Detach{b.type(x).ndim()}, {x}); }

// The module of one depth. Its parameters' names say which.
class MtpModule {
 public:
  MtpModule(Parts& parts, const MtpTrunk& trunk, i64 depth)
      : p_(parts),
        b_(parts.b),
        trunk_(trunk),
        depth_(depth),
        index_(std::min(depth, parts.config.mtp.modules()) - 1),
        name_(fmt::format("mtp.layers.{}.", index_)) {}

  // h_{j-1} -> h_j
  Value operator()(Value h) {
    const std::string site = std::exchange(p_.site, fmt::format("mtp {} ", depth_));
    b_.set_origin({"mtp", depth_ - 1, "mtp"});
    Value x = trunk_.embed(data(kTokens, DType::i32));
    b_.set_origin({"mtp", depth_ - 1, "mtp"});
    x = add(b_, "sbh,sbh->sbh", projected("eh_proj_embedding", p_.norm(name_ + "enorm", x)),
            projected("eh_proj_hidden", p_.norm(name_ + "hnorm", h)));
    x = trunk_.layer(name_ + "transformer_layer.", p_.cast(x, p_.mode.precision.residual));
    b_.set_module("head");
    h = p_.norm(name_ + "final_layernorm", x);
    p_.site = site;
    return h;
  }

  LossTerm loss(Value h) {
    const DType accum = accum_of(p_.mode.precision.activations);
    const Value mask = data(kMask, accum), losses = trunk_.losses(h, trunk_.head, data(kLabels, DType::i32));
    LossTerm term{mtp_term(depth_), einsum(b_, "sb,sb->", losses, mask), b_.add1(Sum{"sb->", accum}, {mask})};
    const Value ratio = b_.add1(Quotient{}, {counted(kStepTokens), counted(step_tokens(depth_))});
    const MtpConfig& c = p_.config.mtp;
    term.cotangent = b_.add1(Scale{0, c.loss_scaling_factor / double(c.num_layers)}, {ratio});
    return term;
  }

 private:
  Value data(const char* what, DType dtype) { return p_.data(mtp_data(what, depth_), dtype); }

  // The count of a mask in the step: a mean over micro-batches, on all ranks.
  Value counted(const std::string& name) {
    const DType dtype = accum_of(p_.mode.precision.activations);
    const Value rows = b_.leaf({name + p_.suffix, {dtype, {p_.mode.batch}, {{{{groups::data}}}, {}, {}, {}}}});
    const Value sum = b_.add1(Sum{"b->", dtype}, {rows});
    return b_.relayout(b_.relayout(sum, groups::data, kCopy), groups::context, kCopy);
  }

  // Multiplies with half of W. Each rank has all of W, and multiplies its own part of the stream.
  Value projected(const char* half, Value x) {
    const i64 h = p_.config.hidden_size;
    return einsum(b_, "sbh,oh->sbo", x,
                  p_.matrix(name_ + half + ".weight", {h, h}, kOnStream,
                            initial_of(p_.config, p_.config.init_method_std, h, 2 * h)));
  }

  Parts& p_;
  Builder& b_;
  const MtpTrunk& trunk_;
  const i64 depth_, index_;
  const std::string name_;
};

}  // namespace

std::string mtp_data(const char* what, i64 depth) { return fmt::format("mtp_{}.{}", what, depth); }
std::string mtp_term(i64 depth) { return fmt::format("mtp_{} loss", depth); }

std::vector<DataInput> mtp_inputs(i64 depths) {
  std::vector<DataInput> out;
  for (i64 j = 1; j <= depths; ++j) {
    out.push_back({.name = step_tokens(j), .required = false, .counts = mtp_data(kMask, j)});
    for (const char* what : {kTokens, kLabels, kMask})
      out.push_back({.name = mtp_data(what, j),
                     .make = [what = std::string(what), j](const Batch& batch) { return shifted(batch, what, j); }});
  }
  return out;
}

void add_mtp(Parts& p, const MtpTrunk& trunk, Value h) {
  const MtpConfig& c = p.config.mtp;
  MtpTrunk lent = trunk;
  if (c.detach_heads) {
    h = detached(p.b, h);
    lent.head = detached(p.b, trunk.head);
    lent.embed = [&](Value tokens) { return detached(p.b, trunk.embed(tokens)); };
  }
  for (i64 depth = 1; depth <= c.num_layers; ++depth) {
    MtpModule module(p, lent, depth);
    h = module(h);
    p.out.terms.push_back(module.loss(h));
  }
}

}  // namespace megalith
