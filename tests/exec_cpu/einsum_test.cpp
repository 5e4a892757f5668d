#include <map>

#include "exec/cpu/kernels/einsum_plan.h"
#include "exec/cpu/kernels/matmul.h"
#include "kernel_run.h"

namespace megalith::cpu {

namespace {

struct Want {
  std::vector<double> y, size;  // the result, and the sum of the terms' magnitudes
  i64 terms = 1;
};

// The definition: every combination of letters, number by number.
Want naive(const std::string& spec, const Tensor& x, const Tensor& w) {
  const auto [ins, outs] = split_spec(spec);
  struct Letter {
    i64 n;
    size_t stride[3];
  };
  std::map<char, i64> n;
  for (size_t d = 0; d < ins[0].size(); ++d) n[ins[0][d]] = x.type.shape[d];
  for (size_t d = 0; d < ins[1].size(); ++d) n[ins[1][d]] = w.type.shape[d];
  auto stride = [&](const std::string& letters, char c) {
    const size_t at = letters.find(c);
    i64 s = at < letters.size();
    for (size_t d = at + 1; s && d < letters.size(); ++d) s *= n[letters[d]];
    return size_t(s);
  };
  std::vector<Letter> all;
  i64 combinations = 1, ys = 1;
  for (auto& [c, size] : n) {
    all.push_back({size, {stride(ins[0], c), stride(ins[1], c), stride(outs[0], c)}});
    combinations *= size;
  }
  for (char c : outs[0]) ys *= n[c];
  Want want{std::vector<double>(size_t(ys)), std::vector<double>(size_t(ys)), ys ? combinations / ys : 0};
  for (i64 i = 0; i < combinations; ++i) {
    size_t at[3] = {};
    i64 rest = i;
    for (const Letter& l : all) {
      for (int o = 0; o < 3; ++o) at[o] += size_t(rest % l.n) * l.stride[o];
      rest /= l.n;
    }
    const double term = x.x[at[0]] * w.x[at[1]];
    want.y[at[2]] += term, want.size[at[2]] += std::abs(term);
  }
  return want;
}

struct Types3 {
  DType x, w, y;
};
const std::vector<Types3> kTypes = {{DType::f32, DType::f32, DType::f32},   {DType::bf16, DType::bf16, DType::bf16},
                                    {DType::bf16, DType::bf16, DType::f32}, {DType::f64, DType::f64, DType::f64},
                                    {DType::f32, DType::bf16, DType::f32},  {DType::bf16, DType::f64, DType::f64}};

Shape shape_of(const std::string& letters, const std::map<char, i64>& sizes) {
  Shape s;
  for (char c : letters) s.push_back(sizes.at(c));
  return s;
}

// y against the definition: one rounding to y's type, and one of the sum type for each term, at most.
void expect_einsum(const Tensor& got, const Want& want, const std::vector<double>& acc, const std::string& what) {
  const DType y = got.type.dtype;
  ASSERT_EQ(got.x.size(), want.y.size()) << what;
  for (size_t i = 0; i < want.y.size(); ++i) {
    const double to = want.y[i] + (acc.empty() ? 0 : acc[i]),
                 size = want.size[i] + (acc.empty() ? 0 : std::abs(acc[i]));
    const double limit = epsilon(y) * std::abs(to) + double(want.terms + 1) * epsilon(accum_of(y)) * size;
    ASSERT_LE(std::abs(got.x[i] - to), limit * 1.01) << what << " at " << i;
  }
}

void check_spec(const std::string& spec, const std::map<char, i64>& sizes, Types3 t) {
  const auto [ins, outs] = split_spec(spec);
  const Tensor x = random_tensor(t.x, shape_of(ins[0], sizes), 1), w = random_tensor(t.w, shape_of(ins[1], sizes), 2);
  const Tensor acc = random_tensor(t.y, shape_of(outs[0], sizes), 3);
  const Want want = naive(spec, x, w);
  const std::string what = fmt::format("{} {} {} {}", spec, name_of(t.x), name_of(t.w), name_of(t.y));
  const bool library = t.x == DType::f32;  // oneDNN may cut its work by the number of threads
  expect_einsum(run_kernel(Einsum{spec, t.y}, {x, w}, {.any_threads = !library})[0], want, {}, what);
  const Einsum adds{spec, t.y, true, false}, starts{spec, t.y, true, true};
  expect_einsum(run_kernel(adds, {x, w, acc}, {true, !library})[0], want, acc.x, what + " adds");
  expect_einsum(run_kernel(starts, {x, w, acc}, {false, !library})[0], want, acc.x, what + " goes on");
  expect_einsum(run_kernel(starts, {x, w, acc}, {true, !library})[0], want, {}, what + " starts");
}

void check_sizes(const std::string& spec, const std::vector<std::map<char, i64>>& all) {
  for (const auto& sizes : all)
    for (const Types3& t : kTypes) check_spec(spec, sizes, t);
}

EinsumPlan plan_of(const std::string& spec, const std::map<char, i64>& sizes) {
  const auto [ins, outs] = split_spec(spec);
  return plan_einsum({{ins[0], shape_of(ins[0], sizes)},
                      {ins[1], shape_of(ins[1], sizes)},
                      {outs[0], shape_of(outs[0], sizes)},
                      {DType::f32, DType::f32, DType::f32}});
}

}  // namespace

// Every linear layer of the models with both its gradients.
TEST(Einsum, linear_layers_and_gradients) {
  const std::map<char, i64> odd = {{'s', 7},  {'b', 3}, {'g', 3},  {'r', 2},  {'d', 5},
                                   {'h', 33}, {'n', 2}, {'f', 17}, {'v', 129}};
  std::map<char, i64> one = odd;
  one['s'] = one['b'] = one['g'] = one['r'] = 1;
  for (const std::string spec : {"sbh,grdh->sbgrd", "sbh,gdh->sbgd", "sbgrd,hgrd->sbh", "sbh,nfh->sbnf", "sbh,fh->sbf",
                                 "sbf,hf->sbh", "sbh,vh->sbv"}) {
    const auto [ins, outs] = split_spec(spec);
    for (const auto& s : {spec, outs[0] + "," + ins[1] + "->" + ins[0], outs[0] + "," + ins[0] + "->" + ins[1]}) {
      EXPECT_EQ(plan_of(s, odd).kind, EinsumPlan::kGemm) << s;
      EXPECT_TRUE(plan_of(s, odd).outer.empty()) << s;
      check_sizes(s, {odd, one});
    }
  }
}

// Sizes around the tile's and the blocks' edges, all four ways of laying the operands.
TEST(Einsum, matrices_of_all_sizes) {
  for (const std::string spec : {"mk,kn->mn", "km,kn->mn", "mk,nk->mn", "km,nk->nm"})
    for (i64 m : {1, 8, 33})
      check_sizes(
          spec,
          {{{'m', m}, {'n', 1}, {'k', 770}}, {{'m', m}, {'n', 48}, {'k', 16}}, {{'m', m}, {'n', 129}, {'k', 33}}});
}

TEST(Einsum, results_lie_either_way) {
  const std::map<char, i64> sizes = {{'m', 9}, {'n', 50}, {'k', 20}};
  EXPECT_EQ(plan_of("mk,kn->mn", sizes).kind, EinsumPlan::kGemm);
  EXPECT_EQ(plan_of("mk,kn->nm", sizes).kind, EinsumPlan::kGemm);
  EXPECT_TRUE(plan_of("mk,kn->nm", sizes).swapped);
}

TEST(Einsum, deep_and_wide_blocks) {
  check_spec("mk,kn->mn", {{'m', 9}, {'n', 50}, {'k', 2500}}, {DType::bf16, DType::bf16, DType::bf16});
  check_spec("mk,nk->mn", {{'m', 700}, {'n', 800}, {'k', 3}}, {DType::bf16, DType::bf16, DType::f32});
}

TEST(Einsum, masked_sums_and_products) {
  check_sizes("sb,sb->", {{{'s', 1}, {'b', 1}}, {{'s', 129}, {'b', 7}}, {{'s', 40000}, {'b', 1}}});
  check_sizes("sbh,sbh->sbh", {{{'s', 7}, {'b', 1}, {'h', 33}}, {{'s', 33}, {'b', 2}, {'h', 129}}});
  check_sizes(",sb->sb", {{{'s', 129}, {'b', 7}}});
  EXPECT_EQ(plan_of("sb,sb->", {{'s', 129}, {'b', 7}}).kind, EinsumPlan::kDot);
  EXPECT_EQ(plan_of("sbh,sbh->sbh", {{'s', 7}, {'b', 2}, {'h', 33}}).kind, EinsumPlan::kMultiply);
}

TEST(Einsum, batches_and_whatever_else) {
  const std::map<char, i64> sizes = {{'b', 3}, {'m', 9}, {'n', 11}, {'k', 17}, {'q', 2}};
  for (const std::string spec :
       {"bmk,bkn->bmn", "bmk,bnk->mbn", "mbk,kbn->bnm", "mk,kn->nm", "mkb,knb->mnb", "mq,kn->mn", "bmk,nk->bnm",
        "m,n->mn", "mk,k->m", "k,nk->n", "bmk,bk->mb", "kb,nkb->nb"})
    check_sizes(spec, {sizes});
}

TEST(Einsum, empty_sizes) {
  for (const Types3& t : kTypes) {
    check_spec("mk,nk->mn", {{'m', 0}, {'n', 3}, {'k', 5}}, t);
    check_spec("mk,nk->mn", {{'m', 30}, {'n', 20}, {'k', 0}}, t);
    check_spec("sb,sb->", {{'s', 0}, {'b', 3}}, t);
  }
}

// What make_matmul chooses depends on the CPU; both means are right on every CPU.
TEST(MatMul, library_and_own_agree) {
  for (DType in : {DType::f32, DType::bf16})
    for (DType out : {DType::f32, DType::bf16}) {
      if (in == DType::f32 && out == DType::bf16) continue;
      const GemmSpec s{33, 65, 129, {in, 129, 1}, {in, 1, 129}, {out, 65, 1}};
      const Tensor a = random_tensor(in, {33, 129}, 1), b = random_tensor(in, {65, 129}, 2),
                   c0 = random_tensor(out, {33, 65}, 3);
      const Want want = naive("mk,nk->mn", a, b);
      const auto library = onednn_matmul(s);
      ASSERT_TRUE(library);
      for (const MatMul& mm : {*library, own_matmul(s)})
        for (bool add : {false, true}) {
          Watched wa(a), wb(b), wc(c0), workspace(mm.workspace, 0xFF);
          mm.run(wa.data(), wb.data(), wc.data(), add, workspace.data());
          EXPECT_TRUE(wc.intact() && workspace.intact());
          expect_einsum(wc.tensor(c0.type), want, add ? c0.x : std::vector<double>{},
                        fmt::format("{}->{}", name_of(in), name_of(out)));
        }
    }
}

}  // namespace megalith::cpu
