// AdamW: weight decay is decoupled.
#include <cmath>

#include "config/field.h"
#include "ops/update_rules.h"
#include "optim/optimizer.h"

namespace megalith {

namespace {

class Adam final : public Optimizer {
 public:
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<Adam>(*this); }
  std::string_view name() const override { return "adam"; }

  void list_fields(config::FieldList& f) override {
    f.add("adam-beta1", beta1_, "Decay of Adam's first moment.");
    f.add("adam-beta2", beta2_, "Decay of Adam's second moment.");
    f.add("adam-eps", eps_, "Added to the root of Adam's second moment.");
  }
  std::string mistake() const override {
    for (const auto& [flag, value] : {std::pair("adam-beta1", beta1_), std::pair("adam-beta2", beta2_)})
      if (std::string wrong = mistake_of_decay(flag, value); !wrong.empty()) return wrong;
    return eps_ > 0 ? "" : fmt::format("--adam-eps {} must be positive", eps_);
  }

  std::vector<OptimizerState> states(const Precision& p) const override {
    return {{"exp_avg", p.state("exp_avg")}, {"exp_avg_sq", p.state("exp_avg_sq")}};
  }
  int scalars() const override { return 2; }
  void write_scalars(i64 t, double* out) const override {
    out[0] = 1 - std::pow(beta1_, double(t)), out[1] = 1 - std::pow(beta2_, double(t));
  }
  Value update(Builder& b, const Target& t) const override { return update_by(b, AdamW{beta1_, beta2_, eps_}, t); }

 private:
  double beta1_ = 0.9, beta2_ = 0.999, eps_ = 1e-8;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam() { return std::make_unique<Adam>(); }

}  // namespace megalith
