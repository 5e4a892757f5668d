// The optimizers' steps against references in float64 (tests/golden/make_optimizers.py), and on several ranks, cut or
// not, against one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "config/field.h"
#include "ops/update.h"
#include "optim/optimizer.h"
#include "optim/update.h"
#include "passes/pass.h"
#include "tests/golden.h"
#include "tests/harness/rank_set.h"

namespace megalith {
namespace {

using harness::RankSet;
using harness::Tensor;
using nlohmann::ordered_json;
using Weights = std::map<std::string, Tensor>;

const ordered_json& golden_steps() {
  static const auto all = [] {
    std::ifstream file(golden("optimizers.json"));
    return ordered_json::parse(file);
  }();
  return all;
}

OptimizerConfig config_of(const ordered_json& flags) {
  OptimizerConfig c;
  c.clip_grad = 0;
  config::FieldList fields = config::fields_of(c);
  for (const auto& [name, value] : flags.items()) fields.find(name)->set({value.get<std::string>()}, name);
  return c;
}

Tensor sines(i64 seed, const Shape& shape) {
  Tensor t{shape, {}};
  for (i64 i = 0; i < count(shape); ++i) t.v.push_back(float(std::sin(0.7 * double(i * i) + 78.233 * double(seed))));
  return t;
}

// Parameters as a model declares them: rows of column-parallel matrices, and columns of the others, are split.
std::vector<Parameter> parameters_of(DType dtype) {
  std::vector<Parameter> out;
  for (const ordered_json& p : golden_steps()["parameters"]) {
    const auto name = p[0].get<std::string>();
    const Shape shape = p[1].get<Shape>();
    const int row_dims = p[2].get<int>();
    Parameter q{.name = name, .type = {dtype, shape, whole(shape.size())}};
    q.true_rows = shape[0], q.kind = row_dims ? ParameterKind::matrix : ParameterKind::vector, q.row_dims = row_dims;
    q.type.layout.copy = {groups::data, groups::context};
    const std::map<std::string, std::pair<int, int>> split = {
        {"q", {0, 1}}, {"k", {0, -1}}, {"proj", {1, 2}}, {"fc1", {1, -1}}};  // over tp_kv, over tp_rep
    if (const auto at = split.find(name); at != split.end()) {
      q.type.layout.dims[size_t(at->second.first)].add({groups::kv_heads});
      if (at->second.second >= 0)
        q.type.layout.dims[size_t(at->second.second)].add({groups::query_heads});
      else
        q.type.layout.copy.insert(groups::query_heads);
    } else {
      q.type.layout.copy.insert(groups::kv_heads), q.type.layout.copy.insert(groups::query_heads);
    }
    out.push_back(std::move(q));
  }
  return out;
}

bool keeps_bf16(const OptimizerConfig& c) {
  return c.exp_avg_dtype == StateDType::bf16 || c.exp_avg_sq_dtype == StateDType::bf16;
}

Precision precision_of(const OptimizerConfig& c, DType dtype) {
  Precision out = computing_in(dtype);
  if (c.exp_avg_dtype == StateDType::bf16) out.states["exp_avg"] = DType::bf16;
  if (c.exp_avg_sq_dtype == StateDType::bf16) out.states["exp_avg_sq"] = DType::bf16;
  return out;
}

class Steps {
 public:
  Steps(const OptimizerConfig& config, DType dtype, const Mesh& mesh = {}, bool cut = false)
      : config_(config), parameters_(parameters_of(dtype)) {
    g_.mesh = mesh;
    Builder b(g_);
    const Precision precision = precision_of(config, dtype);
    GradientSums sums;
    for (Parameter& p : parameters_) {
      p.value = b.leaf({p.name, p.type, Role::parameter, true});
      sums.gradients.push_back(b.leaf({p.name + ".grad", p.type.dual(precision.gradients), Role::gradient}));
    }
    Type sum{DType::f64, {}, whole(0)};
    sum.layout.partial = {groups::data, groups::context};
    sums.loss = b.leaf({"loss_sum", sum, Role::scalar}), sums.tokens = b.leaf({"token_sum", sum, Role::scalar});
    if (cut) buckets_ = make_buckets(mesh, parameters_, 1, config, precision);
    add_update(b, parameters_, sums, config, precision, buckets_);
    verify(g_);
    run_passes(g_, standard_passes());
    take_ = take_main(mesh, buckets_), spread_ = spread_weights(mesh, buckets_);
    std::vector<ProgramSpec> programs = {{"update", &g_, {Phase::update}}};
    if (cut) {
      for (Graph* g : {&take_, &spread_}) run_passes(*g, standard_passes());
      programs.push_back({"take main", &take_, {Phase::update}});
      programs.push_back({"spread weights", &spread_, {Phase::update}});
    }
    ranks_ = std::make_unique<RankSet>(plan_memory(mesh, programs, cpu::workspace_bytes));
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& p = parameters_[i];
      ranks_->write(cut ? p.name + ".grad" : p.name, sines(i64(i), p.type.shape));
      if (!cut && dtype == DType::bf16) ADD_FAILURE() << "main weights are not written";
    }
    if (cut) ranks_->run("take main"), ranks_->run("spread weights");
  }

  Weights weights() {
    Weights out;
    for (const Parameter& p : parameters_) out[p.name] = ranks_->read(p.name);
    return out;
  }

  void step(i64 t) {
    for (size_t i = 0; i < parameters_.size(); ++i)
      ranks_->write(parameters_[i].name + ".grad", sines(100 * t + i64(i), parameters_[i].type.shape));
    ranks_->write("loss_sum", {{}, {1}}), ranks_->write("token_sum", {{}, {1}});
    for (i64 i = 0; i < config_.all.size(); ++i) {
      const Optimizer& o = config_.all.at(i);
      const std::string leaf = step_scalars_in_name(config_, o, false);
      if (!ranks_->plan().find_leaf(leaf)) continue;
      std::vector<double> h(size_t(step_scalars_in::kOwn + o.scalars()));
      h[step_scalars_in::kLr] = golden_steps()["lr"], h[step_scalars_in::kWeightDecay] = golden_steps()["weight_decay"];
      o.write_scalars(t, h.data() + step_scalars_in::kOwn);
      ranks_->write(leaf, {{i64(h.size())}, h});
    }
    ranks_->run("update");
  }

  std::vector<Parameter>& parameters() { return parameters_; }
  const Plan& plan() const { return ranks_->plan(); }

 private:
  OptimizerConfig config_;
  std::vector<Parameter> parameters_;
  std::vector<Bucket> buckets_;
  Graph g_, take_, spread_;
  std::unique_ptr<RankSet> ranks_;
};

// |a - b| / |b|
double relative(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < b.size(); ++i) difference += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
  return std::sqrt(difference / size);
}

std::vector<double> minus(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(a[i] - b[i]);
  return out;
}

TEST(Optimizers, move_weights_as_their_definitions_in_float64) {
  for (const ordered_json& c : golden_steps()["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const OptimizerConfig config = config_of(c["flags"]);
    const bool rounds = keeps_bf16(config);  // a number near the middle of two may go to the other one
    Steps steps(config, DType::f32);
    const Weights before = steps.weights();
    steps.step(1);
    const Weights first = steps.weights();
    for (i64 t = 2; t <= golden_steps()["steps"].get<i64>(); ++t) steps.step(t);
    const Weights last = steps.weights();
    for (const auto& [name, want] : c["after"].items()) {
      const auto& w = before.at(name).v;
      const std::vector<double> update = minus(want["first"].get<std::vector<double>>(), w);
      EXPECT_LT(relative(minus(first.at(name).v, w), update), 1e-4) << name;
      const auto end = want["last"].get<std::vector<double>>();
      EXPECT_LT(relative(last.at(name).v, end), rounds ? 3e-6 : 1e-6) << name;
    }
  }
}

// What is kept in bf16 is no longer what it would be in f32: the references tell one from the other.
TEST(Optimizers, keep_bf16_where_they_are_told_to) {
  for (const ordered_json& c : golden_steps()["cases"]) {
    OptimizerConfig config = config_of(c["flags"]);
    if (!keeps_bf16(config)) continue;
    SCOPED_TRACE(c["name"].get<std::string>());
    Steps narrow(config, DType::f32);
    config.exp_avg_dtype = config.exp_avg_sq_dtype = StateDType::fp32;
    Steps wide(config, DType::f32);
    const auto state_bytes = [](const Plan& plan) {
      i64 sum = 0;
      for (const Leaf& leaf : plan.leaves)
        if (leaf.role == Role::optimizer) sum += leaf.type.bytes();
      return sum;
    };
    EXPECT_EQ(2 * state_bytes(narrow.plan()), state_bytes(wide.plan()));
    for (i64 t = 1; t <= golden_steps()["steps"].get<i64>(); ++t) wide.step(t);
    if (c["name"] == "lion_bf16") continue;  // signs rarely change
    for (const auto& [name, w] : wide.weights())
      EXPECT_GT(relative(w.v, c["after"][name]["last"].get<std::vector<double>>()), 1e-5) << name;
  }
}

TEST(Optimizers, make_the_same_weights_on_any_mesh_cut_or_not) {
  for (const ordered_json& c : golden_steps()["cases"]) {
    const bool rounds = keeps_bf16(config_of(c["flags"]));
    const DType dtype = rounds ? DType::f32 : DType::f64;
    const double bound = rounds ? 3e-6 : 1e-10;
    Steps one(config_of(c["flags"]), dtype);
    for (i64 t = 1; t <= 3; ++t) one.step(t);
    const Weights want = one.weights();
    for (const Mesh& mesh : {make_mesh({2, 1, 1, 1}), make_mesh({1, 1, 2, 1}), make_mesh({2, 1, 2, 1}),
                             make_mesh({2, 1, 2, 2}), make_mesh({3, 1, 1, 1})})
      for (const bool cut : {false, true}) {
        if (cut && mesh.n(groups::data) == 1) continue;
        SCOPED_TRACE(fmt::format("{} dp{} tp{} {}", c["name"].get<std::string>(), mesh.n(groups::data),
                                 mesh.n(groups::tensor), cut ? "cut" : "whole"));
        Steps many(config_of(c["flags"]), dtype, mesh, cut);
        for (i64 t = 1; t <= 3; ++t) many.step(t);
        for (const auto& [name, w] : many.weights()) EXPECT_LT(relative(w.v, want.at(name).v), bound) << name;
      }
  }
}

// Muon of PyTorch, whose iteration is in bf16. Skipped where it cannot be imported; MEGALITH_PYTHON names the
// interpreter.
TEST(Optimizers, muon_goes_the_way_of_torch) {
  const char* named = std::getenv("MEGALITH_PYTHON");
  const std::string out = ::testing::TempDir() + "muon_torch.json";
  const std::string run =
      fmt::format("{} {}/tests/optim/muon_torch.py {} 2>/dev/null", named ? named : "python3", kSourceDir, out);
  const bool ran = std::system(run.c_str()) == 0;
  if (!ran && !named) GTEST_SKIP() << "needs Python with torch.optim.Muon (MEGALITH_PYTHON names it)";
  ASSERT_TRUE(ran) << "the interpreter that MEGALITH_PYTHON names fails: " << run;
  std::ifstream file(out);
  const auto torch = ordered_json::parse(file);
  for (const ordered_json& c : golden_steps()["cases"]) {
    if (c["name"] != "muon_as_torch") continue;
    Steps steps(config_of(c["flags"]), DType::f32);
    const Weights before = steps.weights();
    for (i64 t = 1; t <= golden_steps()["steps"].get<i64>(); ++t) steps.step(t);
    const Weights after = steps.weights();
    for (const auto& [name, w] : torch.items()) {
      const auto ours = minus(after.at(name).v, before.at(name).v);
      const auto theirs = minus(w.get<std::vector<double>>(), before.at(name).v);
      const auto dot = [](const auto& a, const auto& b) {
        return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
      };
      EXPECT_GT(dot(ours, theirs) / std::sqrt(dot(ours, ours) * dot(theirs, theirs)), 0.995) << name;
      EXPECT_NEAR(std::sqrt(dot(ours, ours) / dot(theirs, theirs)), 1, 0.02) << name;
    }
  }
}

TEST(Optimizers, of_matrices_are_cut_between_them) {
  const OptimizerConfig muon = config_of({{"optimizer", "muon"}});
  const std::vector<Parameter> parameters = parameters_of(DType::f32);
  for (const Bucket& bucket : make_buckets(make_mesh({2, 1, 1, 1}), parameters, 0, muon)) {
    const Parameter& p = parameters[bucket.members[0]];
    EXPECT_EQ(bucket.stacked, p.kind == ParameterKind::matrix) << p.name;
    if (!bucket.stacked) continue;
    EXPECT_EQ(bucket.shard.shape[0], 2) << p.name;  // one of the ranks has zeros
    EXPECT_EQ(Shape(bucket.shard.shape.begin() + 1, bucket.shard.shape.end()), p.type.shape);
  }
}

}  // namespace
}  // namespace megalith
