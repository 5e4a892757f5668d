// The formula by which each optimizer changes one weight, written once for all backends.
//
// A rule is a struct with settings, a name, the number of its states, and a Step. States are tensors besides the
// weights. Step holds the rule's numbers in one optimizer step, and updates one weight and its states. Backends
// instantiate Step over the list at the end of this file. Functions are constexpr, so that CUDA code may call them. M
// is the backend's arithmetic:
//   M::Number; M::fma(a, b, c) = a b + c; M::products(a, b, c, d) = a b + c d; M::over(a, b) = a / b; M::root(x)
#pragma once
#include <cmath>
#include <string_view>
#include <variant>

namespace megalith {

// The step's decisions, and the numbers that the host wrote for it.
struct StepNumbers {
  double factor;        // factor of the gradient
  double lr;            // learning rate
  double weight_decay;  // 0 for a parameter without decay
  const double* own;    // the optimizer's own scalars
};

// AdamW (Loshchilov, Hutter 2019). Own scalars: c1 = 1 - b1^t, c2 = 1 - b2^t.
//   w *= 1 - lr * wd;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= lr / c1 * m / (sqrt(v / c2) + eps)
struct AdamW {
  static constexpr std::string_view name = "adamw";
  static constexpr int kStates = 2;
  static constexpr double kFlops = 14;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  void fields(auto&& v) const { v("beta1", beta1), v("beta2", beta2), v("eps", eps); }

  template <class M>
  struct Step {
    using S = typename M::Number;
    S factor, keep, beta1, beta2, rest1, rest2, rate, root, eps;  // rate = lr / c1; root = 1 / sqrt(c2)

    Step() = default;
    constexpr Step(const AdamW& r, const StepNumbers& u)
        : factor(S(u.factor)),
          keep(S(1 - u.lr * u.weight_decay)),
          beta1(S(r.beta1)),
          beta2(S(r.beta2)),
          rest1(S(1 - r.beta1)),
          rest2(S(1 - r.beta2)),
          rate(S(u.lr / u.own[0])),
          root(S(1 / std::sqrt(u.own[1]))),
          eps(S(r.eps)) {}

    constexpr void operator()(S& w, S g, S* state) const {
      S &m = state[0], &v = state[1];
      g *= factor;
      m = M::products(beta1, m, rest1, g);
      v = M::products(beta2, v, rest2 * g, g);
      w = M::fma(w, keep, -M::over(rate * m, M::fma(M::root(v), root, eps)));
    }
  };
};

// Momentum SGD as torch.optim.SGD: g += wd * w;  m = momentum * m + g;  w -= lr * m
struct Sgd {
  static constexpr std::string_view name = "sgd";
  static constexpr int kStates = 1;
  static constexpr double kFlops = 6;
  double momentum = 0.9;
  void fields(auto&& v) const { v("momentum", momentum); }

  template <class M>
  struct Step {
    using S = typename M::Number;
    S factor, decay, momentum, rate;

    Step() = default;
    constexpr Step(const Sgd& r, const StepNumbers& u)
        : factor(S(u.factor)), decay(S(u.weight_decay)), momentum(S(r.momentum)), rate(S(u.lr)) {}

    constexpr void operator()(S& w, S g, S* state) const {
      S& m = state[0];
      m = M::fma(momentum, m, M::products(g, factor, decay, w));
      w = M::fma(-rate, m, w);
    }
  };
};

// Lion (Chen et al. 2023).
//   w *= 1 - lr * wd;  w -= lr * sign(b1 m + (1 - b1) g);  m = b2 m + (1 - b2) g
struct Lion {
  static constexpr std::string_view name = "lion";
  static constexpr int kStates = 1;
  static constexpr double kFlops = 10;
  double beta1 = 0.95, beta2 = 0.98;
  void fields(auto&& v) const { v("beta1", beta1), v("beta2", beta2); }

  template <class M>
  struct Step {
    using S = typename M::Number;
    S factor, keep, beta1, beta2, rest1, rest2, rate;

    Step() = default;
    constexpr Step(const Lion& r, const StepNumbers& u)
        : factor(S(u.factor)),
          keep(S(1 - u.lr * u.weight_decay)),
          beta1(S(r.beta1)),
          beta2(S(r.beta2)),
          rest1(S(1 - r.beta1)),
          rest2(S(1 - r.beta2)),
          rate(S(u.lr)) {}

    constexpr void operator()(S& w, S g, S* state) const {
      S& m = state[0];
      g *= factor;
      const S mean = M::products(beta1, m, rest1, g);
      w = M::fma(w, keep, mean > 0 ? -rate : mean < 0 ? rate : S(0) * mean);  // NaN stays NaN
      m = M::products(beta2, m, rest2, g);
    }
  };
};

// A mean of gradients, stored in place of the weights: m = b m + (1 - b) g
struct Mean {
  static constexpr std::string_view name = "mean";
  static constexpr int kStates = 0;
  static constexpr double kFlops = 4;
  double beta = 0.9;
  void fields(auto&& v) const { v("beta", beta); }

  template <class M>
  struct Step {
    using S = typename M::Number;
    S factor, beta, rest;

    Step() = default;
    constexpr Step(const Mean& r, const StepNumbers& u) : factor(S(u.factor)), beta(S(r.beta)), rest(S(1 - r.beta)) {}
    constexpr void operator()(S& m, S g, S*) const { m = M::products(beta, m, rest, g * factor); }
  };
};

// Descent along a direction that was computed from the gradient: w *= 1 - lr * wd;  w -= lr * scale * g
struct Descent {
  static constexpr std::string_view name = "descent";
  static constexpr int kStates = 0;
  static constexpr double kFlops = 4;
  double scale = 1;
  void fields(auto&& v) const { v("scale", scale); }

  template <class M>
  struct Step {
    using S = typename M::Number;
    S keep, rate;

    Step() = default;
    constexpr Step(const Descent& r, const StepNumbers& u)
        : keep(S(1 - u.lr * u.weight_decay)), rate(S(u.lr * r.scale)) {}
    constexpr void operator()(S& w, S g, S*) const { w = M::fma(w, keep, -rate * g); }
  };
};

using UpdateRule = std::variant<AdamW, Sgd, Lion, Mean, Descent>;

inline std::string_view name_of(const UpdateRule& rule) {
  return std::visit([](const auto& r) { return r.name; }, rule);
}
inline int states_of(const UpdateRule& rule) {
  return std::visit([](const auto& r) { return r.kStates; }, rule);
}
inline double flops_of(const UpdateRule& rule) {
  return std::visit([](const auto& r) { return r.kFlops; }, rule);
}
void list_rule(const UpdateRule& rule, auto&& v) {
  v("rule", name_of(rule));
  std::visit([&](const auto& r) { r.fields(v); }, rule);
}

}  // namespace megalith
