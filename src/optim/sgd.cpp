// SGD with momentum.
#include "config/field.h"
#include "ops/update_rules.h"
#include "optim/optimizer.h"

namespace megalith {

namespace {

class MomentumSgd final : public Optimizer {
 public:
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<MomentumSgd>(*this); }
  std::string_view name() const override { return "sgd"; }

  void list_fields(config::FieldList& f) override { f.add("sgd-momentum", momentum_, "Momentum of SGD."); }
  std::string mistake() const override { return mistake_of_decay("sgd-momentum", momentum_); }

  std::vector<OptimizerState> states(const Precision& p) const override { return {{"exp_avg", p.state("exp_avg")}}; }
  Value update(Builder& b, const Target& t) const override { return update_by(b, Sgd{momentum_}, t); }

 private:
  double momentum_ = 0.9;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd() { return std::make_unique<MomentumSgd>(); }

}  // namespace megalith
