// Products of experts' rows with more than one tile. Some sizes suit the tensor-core kernels (multiples of 8), others
// do not. Experts have no rows, one row, or rows that end inside a tile.
#include "ops/grouped_product.h"
#include "tests/kernels/dispatch.h"

namespace megalith::kernel_tests {

namespace {

struct Sizes {
  i64 out, in;
};
constexpr Sizes kSizes[] = {{24, 72}, {20, 72}, {24, 70}, {8, 8}, {264, 136}, {520, 40}};

// Of 700 tokens 400 choose expert 1, one chooses expert 3. No token chooses the experts 0, 2 and 5. Some choose none.
i64 uneven(i64 token, i64, i64, i64) { return token < 400 ? 1 : token == 400 ? 3 : token < 660 ? 4 : -1; }
i64 last_alone(i64, i64, i64, i64 experts) { return experts - 1; }

std::vector<Dispatch> all_dispatches() {
  std::vector<Dispatch> out;
  out.emplace_back(Case{"uneven", 350, 2, 1, 6, 1, 0, uneven});
  out.emplace_back(Case{"last_alone", 200, 1, 1, 3, 1, 0, last_alone});
  out.emplace_back(Case{"any", 160, 1, 3, 4});
  return out;
}

// A sum, and the sum of its terms' magnitudes.
struct Sum {
  double value = 0, size = 0;
  void add(double term) { value += term, size += std::abs(term); }
};

// Tensor cores truncate the terms that they align. So an addition has an error of one unit in the last place of the
// largest term.
void expect_sums(const Array& got, const std::vector<Sum>& want, const std::string& what) {
  ASSERT_LE(want.size(), got.x.size()) << what;
  for (size_t i = 0; i < want.size(); ++i) {
    const double limit = 1.01 * storage_error(got.type.dtype) * std::abs(want[i].value) + 0x1p-20 * want[i].size;
    ASSERT_LE(std::abs(got.x[i] - want[i].value), limit)
        << what << " [" << i << "]: got " << got.x[i] << ", want " << want[i].value;
  }
  for (size_t i = want.size(); i < got.x.size(); ++i) ASSERT_EQ(got.x[i], 0) << what << ": wrote behind the rows";
}

std::string name_of_case(const Dispatch& d, DType dtype, const Sizes& z, const std::string& spec) {
  return fmt::format("{} {} {} out {} in {}", d.c.name, name_of(dtype), spec, z.out, z.in);
}

}  // namespace

TEST(GroupedProduct, MultipliesRowsOfManyTiles) {
  for (const Dispatch& d : all_dispatches())
    for (const DType dtype : tested_dtypes())
      for (const Sizes& z : kSizes)
        for (const bool transposed : {false, true}) {
          const Array x = d.rows_of(dtype, {z.in}, 5);
          const Array w = d.weight(dtype, transposed ? Shape{z.in, z.out} : Shape{z.out, z.in}, 6);
          std::vector<Sum> want;
          for (i64 e = 0; e < i64(d.want_ends.size()); ++e)
            for (i64 r = d.begin(e); r < d.end(e); ++r)
              for (i64 o = 0; o < z.out; ++o) {
                const i64 at = e * z.in * z.out + (transposed ? o : o * z.in), step = transposed ? z.out : 1;
                Sum& sum = want.emplace_back();
                for (i64 i = 0; i < z.in; ++i) sum.add(x[r * z.in + i] * w[at + i * step]);
              }
          const GroupedProduct op{transposed ? "nf,efh->nh" : "nh,efh->nf", dtype};
          expect_sums(run_quick(op, {x, w, d.ends}, d.place)[0], want, name_of_case(d, dtype, z, op.spec));
        }
}

TEST(GroupedProduct, SumsUpRowsOfManyTiles) {
  for (const Dispatch& d : all_dispatches())
    for (const DType dtype : tested_dtypes())
      for (const Sizes& z : kSizes) {
        const DType to = accum_of(dtype);
        const Array a = d.rows_of(dtype, {z.out}, 7), b = d.rows_of(dtype, {z.in}, 8);
        const Array before = d.weight(to, {z.out, z.in}, 9);
        std::vector<Sum> want, added;
        for (i64 e = 0; e < i64(d.want_ends.size()); ++e)
          for (i64 o = 0; o < z.out; ++o)
            for (i64 i = 0; i < z.in; ++i) {
              Sum& sum = want.emplace_back();
              for (i64 r = d.begin(e); r < d.end(e); ++r) sum.add(a[r * z.out + o] * b[r * z.in + i]);
              added.push_back(sum), added.back().add(before[i64(added.size()) - 1]);
            }
        GroupedProduct op{"nf,nh->efh", to};
        const std::string name = name_of_case(d, dtype, z, op.spec);
        expect_sums(run_quick(op, {a, b, d.ends}, d.place)[0], want, name);
        op.accumulate = true;
        expect_sums(run_checked(op, {a, b, d.ends, before}, d.place)[0], added, name + " added");
      }
}

}  // namespace megalith::kernel_tests
