// Muon (Jordan et al. 2024), as in Megatron-LM. A Newton-Schulz iteration makes the momentum of a matrix nearly
// orthogonal, by products in the graph. Another optimizer updates embeddings, the output layer and vectors.
#include <algorithm>
#include <array>
#include <cmath>

#include "config/field.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/normalize.h"
#include "ops/reshape.h"
#include "ops/scale.h"
#include "ops/update_rules.h"
#include "optim/optimizer.h"

namespace megalith {

namespace {

enum class Coefficients { simple, quintic, polar_express, aol };
enum class ScaleMode { spectral, unit_rms_norm, shape_scaling };
enum class ProductPrecision { low, medium, high };
enum class Others { adam, lion };
enum class TensorMode { duplicated, distributed, blockwise };

using Polynomial = std::array<double, 3>;  // X becomes a X + b (X X') X + c (X X')^2 X

// A set of each kind, one polynomial a step. Sources: simple: Jordan's; quintic: Cesista, You and Jordan 2025;
// polar_express: Amsel et al. 2025; aol: Boissin et al. 2025.
const std::vector<Polynomial>& polynomials(Coefficients kind) {
  static const std::vector<Polynomial> sets[] = {
      {{3.4445, -4.7750, 2.0315}},
      {{4.0848, -6.8946, 2.9270},
       {3.9505, -6.3029, 2.6377},
       {3.7418, -5.5913, 2.3037},
       {2.8769, -3.1427, 1.2046},
       {2.8366, -3.0525, 1.2012}},
      {{8.2051, -22.9019, 16.4607},
       {4.0664, -2.8612, 0.5184},
       {3.9096, -2.8234, 0.5250},
       {3.2856, -2.4153, 0.4853},
       {2.2779, -1.6198, 0.3985},
       {1.8726, -1.2307, 0.3585},
       {1.8564, -1.2132, 0.3568},
       {1.8750, -1.2500, 0.3750}},
      {{4.0098, -7.0585, 2.4635}, {3.4585, -5.5479, 2.5959}, {2.7573, -3.2939, 1.4254}, {2.7215, -3.0494, 1.3169}}};
  return sets[int(kind)];
}

// A stack of matrices [k, rows, cols] as a parameter's dims: "kabcd" and "k(abc)d".
struct Matrix {
  std::string dims, flat;
  std::vector<std::pair<char, i64>> sizes;
  i64 rows = 1, cols = 1;
};

Matrix matrix_of(const Parameter& p) {
  const int ndim = p.type.ndim(), rows = p.row_dims > 0 ? p.row_dims : ndim - 1;
  Matrix m;
  const auto group = [&](int begin, int end, i64& size) {
    std::string letters;
    for (int d = begin; d < end; ++d) {
      letters += char('a' + d), size *= p.type.dim(d);
      m.sizes.emplace_back(letters.back(), p.type.dim(d));
    }
    m.dims += letters;
    m.flat += letters.size() > 1 ? fmt::format("({})", letters) : letters;
  };
  group(0, rows, m.rows), group(rows, ndim, m.cols);
  return m;
}

class Muon final : public Optimizer {
 public:
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<Muon>(*this); }
  std::string_view name() const override { return "muon"; }

  void list_fields(config::FieldList& f) override {
    f.add("muon-momentum", momentum_, "Decay of Muon's momentum.");
    f.add("muon-nesterov", nesterov_, "Muon adds the gradient to the momentum again (Nesterov).")
        .also(config::Spelling{.flag = "--muon-use-nesterov", .constant = "true"});
    f.add_on("muon-split-qkv", split_qkv_, "Muon takes the weights of queries, keys and values as one matrix.")
        .means("--muon-no-split-qkv", "false");
    f.add("muon-scale-mode", scale_mode_, {"spectral", "unit_rms_norm", "shape_scaling"},
          "Size of Muon's update of a matrix: the root of its longer side; of rows / columns; of that, at least 1.");
    f.add("muon-extra-scale-factor", extra_scale_, "An additional factor of the update.");
    f.add("muon-fp32-matmul-prec", precision_, {"low", "medium", "high"},
          "Precision of Muon's products: high is f32, the others that of the model.");
    f.add("muon-coefficient-type", coefficients_, {"simple", "quintic", "polar_express", "aol"},
          "Polynomials of the Newton-Schulz iteration.");
    f.add("muon-num-ns-steps", steps_, "Steps of the Newton-Schulz iteration.");
    f.add("muon-tp-mode", mode_, {"duplicated", "distributed", "blockwise"},
          "Matrices that tensor-parallel ranks share: duplicated gathers them. distributed does the same, as "
          "results are equal. blockwise is refused.");
    f.add("muon-scalar-optimizer", others_, {"adam", "lion"}, "Optimizer of embeddings, output layer and vectors.");
  }
  std::string mistake() const override {
    if (std::string wrong = mistake_of_decay("muon-momentum", momentum_); !wrong.empty()) return wrong;
    const i64 n = i64(polynomials(coefficients_).size());
    if (steps_ < 1 || (coefficients_ != Coefficients::polar_express && steps_ % n != 0))
      return fmt::format("--muon-num-ns-steps {}: from 1 on and a multiple of {} is wanted", steps_, n);
    if (coefficients_ == Coefficients::polar_express && steps_ < n)
      return fmt::format("--muon-num-ns-steps {}: --muon-coefficient-type polar_express has {} or more", steps_, n);
    if (!split_qkv_) return "--muon-no-split-qkv: queries, keys and values as one matrix is not built: leave it out";
    if (extra_scale_ <= 0) return fmt::format("--muon-extra-scale-factor {} must be positive", extra_scale_);
    return {};
  }

  std::string_view updates_by(const Parameter& p) const override {
    if (p.kind == ParameterKind::matrix) return name();
    return others_ == Others::adam ? "adam" : "lion";
  }
  Granularity granularity() const override { return Granularity::matrix; }
  bool takes_packed() const override { return false; }
  std::vector<OptimizerState> states(const Precision& p) const override {
    return {{"momentum_buffer", p.state("exp_avg")}};  // a first moment
  }

  Value update(Builder& b, const Target& t) const override {
    const int ndim = b.type(t.states[0]).ndim();
    const Value before = widened(b, t.states[0]);
    const bool narrow = before != t.states[0];
    const Value old = nesterov_ ? b.add1(Scale{ndim, -momentum_}, {before}) : Value{};
    Target mean = t;
    mean.weights = before, mean.copy = {}, mean.states = {}, mean.decay = false;
    Value m = update_by(b, Mean{momentum_}, mean);
    if (narrow) b.add1(PutBack{}, {m, t.states[0]});  // stored rounded; the direction uses the value before rounding
    if (nesterov_) {                                  // (1 - beta) g + beta m, of m before and after
      const std::string x = letters(ndim);
      m = add(b, fmt::format("{0},{0}->{0}", x), b.add1(Scale{ndim, 1 + momentum_}, {m}), old);
    }
    Target step = t;
    step.gradient = orthogonal(b, t, m), step.states = {};
    const Matrix matrix = matrix_of(t.like);
    return update_by(b, Descent{scale(double(matrix.rows), double(matrix.cols))}, step);
  }

 private:
  // In the type of the update's arithmetic.
  static Value widened(Builder& b, Value v) {
    const Type& t = b.type(v);
    const DType wide = accum_of(t.dtype);
    return t.dtype == wide ? v : b.add1(Cast{t.ndim(), wide}, {v});
  }

  double scale(double rows, double cols) const {
    const double square = scale_mode_ == ScaleMode::spectral        ? std::max(rows, cols)
                          : scale_mode_ == ScaleMode::unit_rms_norm ? rows / cols
                                                                    : std::max(1.0, rows / cols);
    return std::sqrt(square) * extra_scale_;
  }

  // Orthogonalizes the matrices of a value of the target's type, and restores their shape.
  Value orthogonal(Builder& b, const Target& t, Value m) const {
    const Type before = b.type(m);
    if (const AxisSet copies = before.layout.copy; !copies.empty()) m = b.relayout(m, copies, kSame);
    const auto for_splits = [&](auto&& f) {  // f(axes, dim) of each dim of a matrix that is split
      for (size_t d = t.stacked ? 1 : 0; d < before.layout.dims.size(); ++d) {
        if (const AxisSet axes = before.layout.dims[d].axes(); !axes.empty()) f(axes, int(d));
      }
    };
    for_splits([&](AxisSet axes, int) {
      check(mode_ != TensorMode::blockwise || b.mesh().n(axes) == 1,
            "--muon-tp-mode blockwise, which treats each rank's part of a matrix separately, is not built: use "
            "duplicated");
      m = b.relayout(m, axes, kSame);
    });
    const Matrix matrix = matrix_of(t.like);
    auto sizes = matrix.sizes;
    sizes.emplace_back('z', 1);
    const std::string flat = "z" + matrix.flat;
    const std::string dims =
        t.stacked ? "z" + matrix.dims : "(z" + matrix.dims.substr(0, 1) + ")" + matrix.dims.substr(1);
    const bool same = flat == dims;
    if (!same) m = b.add1(Reshape{dims + "->" + flat, sizes, {}}, {m});
    const DType wide = b.type(m).dtype;
    const bool narrow = precision_ != ProductPrecision::high && t.like.type.dtype == DType::bf16;
    m = iterated(b, m, matrix.rows > matrix.cols, wide, narrow ? DType::bf16 : wide);
    if (!same) m = b.add1(Reshape{flat + "->" + dims, sizes, {}}, {m});
    for_splits([&](AxisSet axes, int dim) { m = b.relayout(m, axes, split(dim)); });
    return m;
  }

  // x [z,i,j]. `narrow`: the dtype of the products' operands. Sums and added terms stay `wide`.
  Value iterated(Builder& b, Value x, bool tall, DType wide, DType narrow) const {
    const auto operand = [&](Value v) { return narrow == wide ? v : b.add1(Cast{3, narrow}, {v}); };
    const auto product = [&](const char* spec, Value v, Value w) { return b.add1(Einsum{spec, wide}, {v, w}); };
    const auto sum = [&](double j, Value v, double k, Value w) {  // j v + k w
      return add(b, "zij,zij->zij", b.add1(Scale{3, j}, {v}), k == 1 ? w : b.add1(Scale{3, k}, {w}));
    };
    const std::vector<Polynomial>& of = polynomials(coefficients_);
    x = b.add1(Normalize{}, {x});
    for (i64 s = 0; s < steps_; ++s) {
      const bool repeats = coefficients_ != Coefficients::polar_express;
      const auto [j, k, l] = of[size_t(repeats ? s % i64(of.size()) : std::min(s, i64(of.size()) - 1))];
      const Value n = operand(x);
      const Value gram = product(tall ? "zij,zil->zjl" : "zij,zlj->zil", n, n), g = operand(gram);
      const Value both = operand(sum(k, gram, l, product("zij,zjl->zil", g, g)));
      x = sum(j, x, 1, tall ? product("zij,zjl->zil", n, both) : product("zij,zjl->zil", both, n));
    }
    return x;
  }

  double momentum_ = 0.9, extra_scale_ = 1;
  bool nesterov_ = false, split_qkv_ = true;
  ScaleMode scale_mode_ = ScaleMode::spectral;
  ProductPrecision precision_ = ProductPrecision::medium;
  Coefficients coefficients_ = Coefficients::quintic;
  TensorMode mode_ = TensorMode::duplicated;
  i64 steps_ = 5;
  Others others_ = Others::adam;
};

}  // namespace

std::unique_ptr<Optimizer> make_muon() { return std::make_unique<Muon>(); }

}  // namespace megalith
