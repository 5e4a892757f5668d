// Lion: the sign of a mean of gradients, with decoupled weight decay.
#include "config/field.h"
#include "ops/update_rules.h"
#include "optim/optimizer.h"

namespace megalith {

namespace {

class SignMomentum final : public Optimizer {
 public:
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<SignMomentum>(*this); }
  std::string_view name() const override { return "lion"; }

  void list_fields(config::FieldList& f) override {
    f.add("lion-beta1", beta1_, "Share of the momentum in Lion's update.");
    f.add("lion-beta2", beta2_, "Decay of Lion's momentum.");
  }
  std::string mistake() const override {
    for (const auto& [flag, value] : {std::pair("lion-beta1", beta1_), std::pair("lion-beta2", beta2_)})
      if (std::string wrong = mistake_of_decay(flag, value); !wrong.empty()) return wrong;
    return {};
  }

  std::vector<OptimizerState> states(const Precision& p) const override { return {{"exp_avg", p.state("exp_avg")}}; }
  Value update(Builder& b, const Target& t) const override { return update_by(b, Lion{beta1_, beta2_}, t); }

 private:
  double beta1_ = 0.95, beta2_ = 0.98;
};

}  // namespace

std::unique_ptr<Optimizer> make_lion() { return std::make_unique<SignMomentum>(); }

}  // namespace megalith
