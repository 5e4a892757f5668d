// Steps in fp8 that calibrate measures, and how plans in fp8 are priced by them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/calibrate.h"
#include "comm/join.h"
#include "exec/cpu/backend.h"
#include "exec/cuda_needs/code_product.h"
#include "exec/sim/coded_form.h"
#include "exec/sim/facts_clock.h"
#include "exec/sim/paper_backend.h"
#include "facts/facts_file.h"
#include "facts/tells_facts.h"
#include "ops/all.h"

namespace megalith {

namespace {

using Recipe = QuantizeConfig::Recipe;
using Table = sim::KernelKind::Table;

constexpr Recipe kRecipes[] = {Recipe::delayed, Recipe::tensorwise, Recipe::blockwise};

DeviceFacts hopper() {
  DeviceFacts f = find_facts("h100");
  f.products.clear(), f.attention.clear(), f.kernels.clear();
  return f;
}

// The first measured model in this recipe.
ModelCase case_of(std::optional<Recipe> recipe) {
  for (const ModelCase& m : timed_cases(true, true))
    if (m.fp8 == recipe) return m;
  return {};
}

// The last program of a step, on an H100 that is not present.
struct Step {
  PlannedStep planned;
  explicit Step(const StepSpec& spec) : planned(plan_step(spec, *sim::make_paper_backend(hopper()))) {}
  explicit Step(const ModelCase& m) : Step(m.spec()) {}
  const Plan& plan() const { return planned.plan; }
  const Program& program() const { return plan().program("last-micro-batch"); }
  sim::KernelKind kind(const Instruction& in) const { return sim::kind_of(plan(), program(), in); }
  template <class Op>
  std::vector<Instruction> all() const {
    std::vector<Instruction> out;
    for (const Instruction& in : program().instructions)
      if (in.op.get_if<Op>()) out.push_back(in);
    return out;
  }
  cuda::LocalNode node(const Instruction& in) const {
    cuda::LocalNode n{plan().mesh, {}, {}, {}, {}};
    for (const int b : in.ins) n.ins.push_back(program().buffers[size_t(b)].type);
    for (const int b : in.outs) n.outs.push_back(program().buffers[size_t(b)].type);
    return n;
  }
};

// What the time of cuBLASLt's product depends on besides its sizes. Empty: the product is of decoded values.
std::string library_kind(const QuantizedProduct& op, const cuda::LocalNode& node) {
  const auto p = cuda::has_two_scales(op, node) ? cuda::code_product(op, node) : cuda::block_product(op, node);
  if (!p) return {};
  const cuda::GemmProblem& g = p->problem;
  return fmt::format("{} {} {} {} {} {} {}", name_of(g.spec.a.dtype), name_of(g.spec.b.dtype), name_of(g.spec.c.dtype),
                     int(g.a_scales), int(g.b_scales), g.adds, g.fast);
}

std::string order_of(const Quantize& c) {
  return fmt::format("{} {} {} {} {}", name_of(c.scaling), name_of(c.format), name_of(c.orders), c.by_sequence,
                     c.scaling == Scaling::power_of_two ? count(c.box) : 0);
}

// Gradients are e4m3 and their sums bf16. So products differ only by scales, and by the bits of their sums.
StepSpec in_e4m3(const ModelCase& m) {
  StepSpec s = m.spec();
  s.quantize.config.format = QuantizeConfig::Format::e4m3, s.mode.precision.gradients = DType::bf16;
  return s;
}

// A CPU with the sizes of a GPU.
class Told final : public TellsFacts, public Backend {
 public:
  explicit Told(int capability) : capability_(capability), cpu_(make_cpu_backend(nullptr)) {}
  void tell(DeviceFacts& facts) const override { facts.capability = capability_; }
  std::string name() const override { return cpu_->name(); }
  std::string device_name() const override { return cpu_->device_name(); }
  i64 workspace_bytes(const Graph& g, const Node& n) const override { return cpu_->workspace_bytes(g, n); }
  i64 fixed_bytes() const override { return 0; }
  i64 available_bytes() const override { return 0; }
  i64 peak_bytes() const override { return 0; }
  std::optional<i64> host_bytes() const override { return 0; }
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    return cpu_->make_interpreter(plan, coord);
  }

 private:
  int capability_;
  std::unique_ptr<Backend> cpu_;
};

}  // namespace

TEST(CalibrateCodes, gpus_from_hopper_on_multiply_them) {
  EXPECT_TRUE(has_products_of_codes(Told(90)));
  EXPECT_TRUE(has_products_of_codes(Told(100)));
  EXPECT_FALSE(has_products_of_codes(Told(89)));
  EXPECT_FALSE(has_products_of_codes(*make_cpu_backend(nullptr)));
}

// Every recipe comes early. The other models, and all models of other devices, are as without fp8.
TEST(CalibrateCodes, models_in_fp8_stand_among_the_others) {
  constexpr size_t kEarly = 10;
  std::set<Recipe> early;
  std::vector<std::string> others, names;
  const std::vector<ModelCase> all = timed_cases(true, true);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].fp8) others.push_back(all[i].name());
    if (all[i].fp8 && i < kEarly) early.insert(*all[i].fp8);
  }
  for (const ModelCase& m : timed_cases(true, false)) names.push_back(m.name());
  EXPECT_EQ(early, std::set<Recipe>(std::begin(kRecipes), std::end(kRecipes)));
  EXPECT_EQ(others, names);
  EXPECT_TRUE(case_of(Recipe::blockwise).name().ends_with("bf16, fp8 blockwise"));
  for (const ModelCase& m : timed_cases(false, true)) EXPECT_FALSE(m.fp8) << m.name();
  EXPECT_EQ(planned_cases(true).size(), planned_cases(false).size() + 4);
}

TEST(CalibrateCodes, every_model_in_fp8_has_products_of_codes) {
  int with_experts = 0;
  for (const ModelCase& m : timed_cases(true, true)) {
    if (!m.fp8) continue;
    const Step step(m);
    const auto products = step.all<QuantizedProduct>();
    EXPECT_GE(products.size(), size_t(m.layers) * 3 * 4) << m.name();
    with_experts += !step.all<QuantizedGroupedProduct>().empty();
    const std::string word = *m.fp8 == Recipe::blockwise ? "f8_blocks " : "f8_tensors ";
    for (const Instruction& in : products) {
      const sim::KernelKind kind = step.kind(in);
      EXPECT_EQ(kind.table, Table::product);
      EXPECT_TRUE(kind.form.starts_with(word)) << kind.form;
      EXPECT_TRUE(sim::multiplies_codes(kind.form));
    }
  }
  EXPECT_EQ(with_experts, 2);
}

// A form has one kind of kernel, and a kind of kernel has one form.
TEST(CalibrateCodes, forms_tell_what_the_time_depends_on) {
  std::map<std::string, std::set<std::string>> kinds, forms;
  const auto add = [&](const std::string& form, const std::string& kind) {
    kinds[form].insert(kind), forms[kind].insert(form);
  };
  const auto add_all = [&](const StepSpec& spec) {
    const Step step(spec);
    for (const Instruction& in : step.all<QuantizedProduct>())
      add(step.kind(in).form, library_kind(*in.op.get_if<QuantizedProduct>(), step.node(in)));
    for (const Instruction& in : step.all<Quantize>())
      add(step.kind(in).form, order_of(*in.op.get_if<Quantize>()) + " " + step.kind(in).form.substr(0, 20));
    for (const Instruction& in : step.all<CodedResult>()) {
      const CodedResult& op = *in.op.get_if<CodedResult>();
      std::string kind(op.op ? op.op->name() : "values");
      for (const Quantize& cast : op.casts) kind += "; " + order_of(cast);
      add(step.kind(in).form, kind);
    }
  };
  for (const Recipe r : kRecipes) add_all(case_of(r).spec()), add_all(in_e4m3(case_of(r)));
  EXPECT_GE(forms.size(), 12u);
  for (const auto& [form, of] : kinds) EXPECT_EQ(of.size(), 1u) << form << ": " << *of.begin() << ", " << *of.rbegin();
  for (const auto& [kind, of] : forms) EXPECT_EQ(of.size(), 1u) << kind << ": " << *of.begin() << ", " << *of.rbegin();
}

// The dtypes of these casts' results are equal.
TEST(CalibrateCodes, forms_of_casts_tell_orders_and_boxes) {
  Quantize rows{.scaling = Scaling::power_of_two, .box = {1, 1, 128}};
  Quantize transposed = rows, columns = rows, squares = rows, mx = rows;
  transposed.orders = CodeOrders::transposed, transposed.split = 2;
  columns.box = {128, 1, 1}, squares.box = {128, 1, 128};
  mx.scaling = Scaling::mx, mx.box = {1, 1, 32};
  Quantize by_sequence = transposed;
  by_sequence.by_sequence = true;
  std::set<std::string> forms;
  for (const Quantize& c : {rows, transposed, columns, squares, mx, by_sequence}) forms.insert(sim::cast_form(c));
  EXPECT_EQ(forms.size(), 6u);
  // The box of a tensor's scale is the whole tensor, of any size.
  Quantize small{.box = {2, 2}}, large{.box = {4, 4}};
  EXPECT_EQ(sim::cast_form(small), sim::cast_form(large));
}

// One measured product of one scale an operand prices all such products, and no others.
TEST(CalibrateCodes, a_clock_prices_products_of_codes_by_those_that_were_measured) {
  DeviceFacts facts = hopper();
  facts.launch_us = 0, facts.hbm_gbps = 1e6;
  const double work = 2.0 * 4096 * 4096 * 4096;
  facts.products = {{"bf16 -> bf16, nt", {4096, 4096, 4096}, work, work / 500e12},
                    {"f8_tensors e4m3 x e4m3 -> bf16, nt, fast", {4096, 4096, 4096}, work, work / 900e12}};
  const sim::FactsClock clock(facts);
  // By the form's first word: TFLOP/s of each product.
  const auto rates = [&](const ModelCase& m) {
    const Step step(m);
    std::map<std::string, std::set<i64>> out;
    for (const Instruction& in : step.program().instructions)
      if (const sim::KernelKind kind = step.kind(in); kind.table == Table::product)
        out[kind.form.substr(0, kind.form.find(' '))].insert(std::llround(kind.work / clock.seconds(kind) / 1e12));
    return out;
  };
  const i64 unmeasured = std::llround(sim::unmeasured_rate(facts, true) / 1e12);
  for (const Recipe r : kRecipes) {
    const auto by = rates(case_of(r));
    EXPECT_EQ(by.at("bf16"), std::set<i64>{500});
    if (r == Recipe::blockwise)
      EXPECT_EQ(by.at("f8_blocks"), std::set{unmeasured});
    else
      EXPECT_EQ(by.at("f8_tensors"), std::set<i64>{900});
  }
  for (const auto& [word, _] : rates(case_of({}))) EXPECT_FALSE(sim::multiplies_codes(word)) << word;
}

// A cast also computes, so its bytes a second are not those of the memory.
TEST(CalibrateCodes, a_cast_does_not_tell_the_memorys_rate) {
  const KernelFact sum{"add bf16 -> bf16", {1000000000, 1024}, 1e9, 1e-3};
  EXPECT_DOUBLE_EQ(rate_of_largest({sum, {"quantize bf16 -> f8_e4m3,f32, kept, both", {2000000000, 1024}, 2e9, 1}}),
                   1000);
}

// Flags of a model in fp8: its kernels are measured in fp8, and steps in fp8 give `together`.
TEST(CalibrateCodes, the_users_model_is_measured_in_fp8) {
  const auto ranks = make_alone({});
  const auto backend = make_cpu_backend(ranks.get());
  const ModelCase model{
      .layers = 2, .hidden = 128, .heads = 4, .vocab = 640, .seq = 32, .batch = 1, .fp8 = Recipe::delayed};
  const DeviceFacts facts = calibrate(*backend, *ranks, {.name = "mine", .model = {timed(model)}});
  const auto is_coded = [](const KernelFact& f) { return f.form.starts_with("f8_tensors "); };
  EXPECT_GE(std::ranges::count_if(facts.products, is_coded), 3);
  EXPECT_GT(facts.together, 0);
  EXPECT_NE(facts.together, 1);
}

}  // namespace megalith
