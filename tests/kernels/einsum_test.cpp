#include "tests/kernels/einsum_definition.h"

namespace megalith::kernel_tests {

namespace {

struct Types3 {
  DType x, w, y;
};
const std::vector<Types3> kTypes = {{DType::f32, DType::f32, DType::f32},   {DType::bf16, DType::bf16, DType::bf16},
                                    {DType::bf16, DType::bf16, DType::f32}, {DType::f64, DType::f64, DType::f64},
                                    {DType::f32, DType::bf16, DType::f32},  {DType::f32, DType::bf16, DType::bf16},
                                    {DType::bf16, DType::f64, DType::f64}};

void check_spec(const std::string& spec, const std::map<char, i64>& sizes, Types3 t) {
  const auto [ins, outs] = split_spec(spec);
  const Tensor x = random_tensor(t.x, shape_of(ins[0], sizes), 1), w = random_tensor(t.w, shape_of(ins[1], sizes), 2);
  const Tensor acc = random_tensor(t.y, shape_of(outs[0], sizes), 3);
  const Want want = naive(spec, x, w);
  const std::string what = fmt::format("{} {} {} {}", spec, name_of(t.x), name_of(t.w), name_of(t.y));
  const bool library = t.x == DType::f32;  // oneDNN may divide its work by the number of threads
  expect_einsum(run_kernel(Einsum{spec, t.y}, {x, w}, {.any_threads = !library})[0], want, {}, what);
  const Einsum adds{spec, t.y, true, false}, starts{spec, t.y, true, true};
  expect_einsum(run_kernel(adds, {x, w, acc}, {true, !library})[0], want, acc.x, what + " adds");
  expect_einsum(run_kernel(starts, {x, w, acc}, {false, !library})[0], want, acc.x, what + " goes on");
  expect_einsum(run_kernel(starts, {x, w, acc}, {true, !library})[0], want, {}, what + " starts");
}

void check_sizes(const std::string& spec, const std::vector<std::map<char, i64>>& all) {
  for (const auto& sizes : all)
    for (const Types3& t : kTypes)
      if (tested(t.x) && tested(t.w) && tested(t.y)) check_spec(spec, sizes, t);
}

// Adds a vector over the last dims to each row.
std::vector<double> with_bias(std::vector<double> rows, const Tensor& bias) {
  for (size_t i = 0; i < rows.size(); ++i) rows[i] += bias.x[i % bias.x.size()];
  return rows;
}

void check_addends(const std::string& spec, const std::map<char, i64>& sizes, const std::string& bias_letters,
                   Types3 t) {
  const auto [ins, outs] = split_spec(spec);
  const Tensor x = random_tensor(t.x, shape_of(ins[0], sizes), 1), w = random_tensor(t.w, shape_of(ins[1], sizes), 2);
  const Tensor c = random_tensor(t.y, shape_of(outs[0], sizes), 3),
               bias = random_tensor(t.y, shape_of(bias_letters, sizes), 4);
  const Want want = naive(spec, x, w);
  const std::string what = fmt::format("{} {} {} {}", spec, name_of(t.x), name_of(t.w), name_of(t.y));
  RunOptions options{.any_threads = t.x != DType::f32, .in_place = same_in_place()};
  Einsum op{spec, t.y};
  const std::vector<double> zeros(want.y.size()), biases = with_bias(zeros, bias);
  std::vector<double> sizes_added;
  for (size_t i = 0; i < biases.size(); ++i) sizes_added.push_back(std::abs(biases[i]) + std::abs(c.x[i]));
  for (const bool over : {false, true}) {
    options.over_inputs = over;
    op.plus = true, op.bias = false;
    expect_einsum(run_kernel(op, {x, w, c}, options)[0], want, c.x, what + " plus");
    op.bias = true;
    expect_einsum(run_kernel(op, {x, w, c, bias}, options)[0], want, with_bias(c.x, bias), what + " plus, bias",
                  sizes_added);
    op.plus = false;
    expect_einsum(run_kernel(op, {x, w, bias}, options)[0], want, biases, what + " bias");
  }
}

}  // namespace

// Every linear layer of the models, with both gradients.
TEST(Einsum, linear_layers_and_gradients) {
  const std::map<char, i64> odd = {{'s', 7},  {'b', 3}, {'g', 3},  {'r', 2},  {'d', 5},
                                   {'h', 33}, {'n', 2}, {'f', 17}, {'v', 129}};
  std::map<char, i64> one = odd;
  one['s'] = one['b'] = one['g'] = one['r'] = 1;
  for (const std::string spec : {"sbh,grdh->sbgrd", "sbh,gdh->sbgd", "sbgrd,hgrd->sbh", "sbh,nfh->sbnf", "sbh,fh->sbf",
                                 "sbf,hf->sbh", "sbh,vh->sbv"}) {
    const auto [ins, outs] = split_spec(spec);
    for (const auto& s : {spec, outs[0] + "," + ins[1] + "->" + ins[0], outs[0] + "," + ins[0] + "->" + ins[1]}) {
      check_sizes(s, {odd, one});
    }
  }
}

// Sizes around the edges of tiles and blocks, with all four orientations of the operands.
TEST(Einsum, matrices_of_all_sizes) {
  for (const std::string spec : {"mk,kn->mn", "km,kn->mn", "mk,nk->mn", "km,nk->nm"})
    for (i64 m : {1, 8, 33})
      check_sizes(
          spec,
          {{{'m', m}, {'n', 1}, {'k', 770}}, {{'m', m}, {'n', 48}, {'k', 16}}, {{'m', m}, {'n', 129}, {'k', 33}}});
}

TEST(Einsum, deep_and_wide_blocks) {
  check_spec("mk,kn->mn", {{'m', 9}, {'n', 50}, {'k', 2500}}, {DType::bf16, DType::bf16, DType::bf16});
  check_spec("mk,nk->mn", {{'m', 700}, {'n', 800}, {'k', 3}}, {DType::bf16, DType::bf16, DType::f32});
  // Tall: the right operand stays packed.
  check_spec("mk,kn->mn", {{'m', 210}, {'n', 50}, {'k', 1600}}, {DType::bf16, DType::bf16, DType::bf16});
  check_spec("km,kn->mn", {{'m', 300}, {'n', 129}, {'k', 257}}, {DType::f32, DType::f32, DType::f32});
}

TEST(Einsum, masked_sums_and_products) {
  check_sizes("sb,sb->", {{{'s', 1}, {'b', 1}}, {{'s', 129}, {'b', 7}}, {{'s', 40000}, {'b', 1}}});
  check_sizes("sbh,sbh->sbh", {{{'s', 7}, {'b', 1}, {'h', 33}}, {{'s', 33}, {'b', 2}, {'h', 129}}});
  check_sizes(",sb->sb", {{{'s', 129}, {'b', 7}}});
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
    if (!tested(t.x) || !tested(t.w) || !tested(t.y)) continue;
    check_spec("mk,nk->mn", {{'m', 0}, {'n', 3}, {'k', 5}}, t);
    check_spec("mk,nk->mn", {{'m', 30}, {'n', 20}, {'k', 0}}, t);
    check_spec("sb,sb->", {{'s', 0}, {'b', 3}}, t);
  }
}

// The forms that passes make of layers with biases and residual additions.
TEST(Einsum, adds_a_tensor_and_a_bias) {
  const std::map<char, i64> odd = {{'s', 7}, {'b', 3}, {'g', 3}, {'r', 2}, {'d', 5}, {'h', 33}, {'n', 2}, {'f', 17}};
  const std::map<char, i64> even = {{'s', 8}, {'b', 2}, {'g', 2}, {'r', 4}, {'d', 16}, {'h', 64}, {'n', 2}, {'f', 128}};
  for (const auto& sizes : {odd, even})
    for (const Types3& t : kTypes) {
      if (!tested(t.x) || !tested(t.w) || !tested(t.y)) continue;
      check_addends("sbh,grdh->sbgrd", sizes, "grd", t);
      check_addends("sbh,gdh->sbgd", sizes, "gd", t);
      check_addends("sbgrd,hgrd->sbh", sizes, "h", t);
      check_addends("sbh,nfh->sbnf", sizes, "nf", t);
      check_addends("sbf,hf->sbh", sizes, "h", t);
    }
}

}  // namespace megalith::kernel_tests
