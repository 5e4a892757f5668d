// Products of experts' codes against f64 sums of what the codes stand for. Some sizes suit the tensor cores' kernel
// (multiples of 16), others do not.
#include <cmath>

#include "ops/clear_rows.h"
#include "ops/quantized_grouped_product.h"
#include "quant/small_float.h"
#include "quant/tensor_core.h"
#include "tests/kernels/dispatch.h"

namespace megalith::kernel_tests {

namespace {

struct Sizes {
  i64 out, in;
};
// Of 352 tokens 200 choose expert 1, one chooses expert 3. No token chooses the experts 0, 2 and 5. Some choose none.
i64 uneven(i64 token, i64, i64, i64) { return token < 200 ? 1 : token == 200 ? 3 : token < 330 ? 4 : -1; }
i64 last_alone(i64, i64, i64, i64 experts) { return experts - 1; }
i64 one_then_all(i64 token, i64, i64, i64) { return token > 0; }
i64 in_turn(i64 token, i64, i64, i64 experts) { return token * experts / 320; }

// Routings, each with sizes of experts. The third and fourth sum over more than the kernel's ring of stages, along a
// row and over rows. The fifth has more tiles than a GPU takes at once.
struct Routed {
  Dispatch d;
  std::vector<Sizes> sizes;
};
std::vector<Routed> all_routed() {
  const std::vector<Sizes> few = {{32, 80}, {20, 70}};
  std::vector<Routed> out;
  out.push_back({Dispatch(Case{"uneven", 176, 2, 1, 6, 1, 0, uneven}), {{32, 80}, {20, 70}, {272, 144}}});
  out.push_back({Dispatch(Case{"last_alone", 202, 1, 1, 3, 1, 0, last_alone}), few});
  out.push_back({Dispatch(Case{"any", 160, 1, 3, 4}), {{32, 1040}}});
  out.push_back({Dispatch(Case{"one_then_all", 1056, 1, 1, 2, 1, 0, one_then_all}), {{32, 80}}});
  out.push_back({Dispatch(Case{"in_turn", 320, 1, 1, 64, 1, 0, in_turn}), {{272, 16}}});
  out.push_back({Dispatch(Case{"second_half", 160, 1, 3, 4, 2, 1}), few});
  return out;
}

double value_of(CodeFormat format, double code) {
  return format == CodeFormat::e5m2 ? quant::E5M2::decode(u8(code)) : quant::E4M3::decode(u8(code));
}

// Random codes in the place of a's numbers. NaN, beyond the rows, is a code of NaN.
Array as_codes(Array a, CodeFormat format) {
  const float up = format == CodeFormat::e5m2 ? 9000 : 70;
  for (double& x : a.x)
    x = format == CodeFormat::e5m2 ? quant::E5M2::encode(float(x) * up) : quant::E4M3::encode(float(x) * up);
  a.type.dtype = dtype_of_codes(format);
  return a;
}

// The transpose. rest: the dims of a rank's part.
Array turned_by(const Array& a, Turn turn, i64 layers, i64 rows, i64 columns) {
  if (turn.split == 0) return a;
  Array out = a;
  for (i64 l = 0; l < layers; ++l)
    for (i64 r = 0; r < rows; ++r)
      for (i64 c = 0; c < columns; ++c) out[(l * columns + c) * rows + r] = a[(l * rows + r) * columns + c];
  out.type = turned(a.type, turn);
  return out;
}

Array scale(double x) { return {{DType::f32, {1, 1}, whole(2)}, {x}}; }
constexpr double kX = 0.0123, kW = 0.00321;

// A sum of products of codes, and what it may lose.
class Sum {
 public:
  void add(double term) { terms_.push_back(term); }
  // Scaled by both scales, with `before`.
  void expect(double got, double before, DType to, const std::string& what) const {
    double value = 0, size = 0;
    for (const double t : terms_) value += t, size += std::abs(t);
    const double unit = double(float(kX)) * double(float(kW)), want = before + value * unit;
    const double rounded = 1.01 * 2 * storage_error(to) * (std::abs(want) + std::abs(value * unit));
    const double limit = rounded + double(terms_.size() + 4) * 0x1p-23 * size * unit, error = std::abs(got - want);
    if (error > limit)  // the slow bound is for tensor cores
      ASSERT_LE(error, limit + quant::lost_on_tensor_cores(terms_) * unit)
          << what << ": got " << got << ", want " << want;
  }

 private:
  std::vector<double> terms_;
};

void expect_all(const Array& got, const std::vector<Sum>& want, const Array* before, const std::string& what) {
  ASSERT_LE(want.size(), got.x.size()) << what;
  for (size_t i = 0; i < want.size(); ++i)
    want[i].expect(got.x[i], before ? before->x[i] : 0, got.type.dtype, fmt::format("{} [{}]", what, i));
  for (size_t i = want.size(); i < got.x.size(); ++i) ASSERT_EQ(got.x[i], 0) << what << ": wrote behind the rows";
}

// Calls f(dispatch, sizes, format of the first operand, turned) for all.
template <class F>
void for_all(F&& f) {
  for (const auto& [d, sizes] : all_routed())
    for (const Sizes& z : sizes)
      for (const CodeFormat format : {CodeFormat::e4m3, CodeFormat::e5m2})
        for (const bool turned : {false, true}) f(d, z, format, turned);
}

std::string name_of_case(const Dispatch& d, const Sizes& z, CodeFormat format, bool turned, const std::string& spec) {
  return fmt::format("{} {} {}{} out {} in {}", d.c.name, name_of(format), spec, turned ? " turned" : "", z.out, z.in);
}

}  // namespace

TEST(QuantizedGroupedProduct, MultipliesRows) {
  for_all([](const Dispatch& d, const Sizes& z, CodeFormat format, bool turned) {
    for (const bool transposed : {false, true}) {
      const i64 experts = i64(d.want_ends.size());
      const Array x = as_codes(d.rows_of(DType::f32, {z.in}, 5), format);
      const Array w =
          as_codes(d.weight(DType::f32, transposed ? Shape{z.in, z.out} : Shape{z.out, z.in}, 6), CodeFormat::e4m3);
      std::vector<Sum> want;
      for (i64 e = 0; e < experts; ++e)
        for (i64 r = d.begin(e); r < d.end(e); ++r)
          for (i64 o = 0; o < z.out; ++o) {
            const i64 at = e * z.in * z.out + (transposed ? o : o * z.in), step = transposed ? z.out : 1;
            Sum& sum = want.emplace_back();
            for (i64 i = 0; i < z.in; ++i)
              sum.add(value_of(format, x[r * z.in + i]) * value_of(CodeFormat::e4m3, w[at + i * step]));
          }
      QuantizedGroupedProduct op{transposed ? "nf,efh->nh" : "nh,efh->nf", DType::bf16, format, CodeFormat::e4m3};
      op.turned = turned;
      const Array codes = turned_by(w, op.turn(1), experts, z.in, z.out);
      for (const DType to : {DType::bf16, DType::f32}) {
        op.dtype = to;
        expect_all(run_quick(op, {x, scale(kX), codes, scale(kW), d.ends}, d.place)[0], want, nullptr,
                   name_of_case(d, z, format, turned, op.spec));
      }
    }
  });
}

TEST(QuantizedGroupedProduct, SumsUpRows) {
  for_all([](const Dispatch& d, const Sizes& z, CodeFormat format, bool turned) {
    const i64 experts = i64(d.want_ends.size());
    const Array a = as_codes(d.rows_of(DType::f32, {z.out}, 7), format);
    const Array b = as_codes(d.rows_of(DType::f32, {z.in}, 8), CodeFormat::e4m3);
    const Array before = d.weight(DType::f32, {z.out, z.in}, 9);
    std::vector<Sum> want;
    for (i64 e = 0; e < experts; ++e)
      for (i64 o = 0; o < z.out; ++o)
        for (i64 i = 0; i < z.in; ++i) {
          Sum& sum = want.emplace_back();
          for (i64 before = d.begin(e) % 16; before > 0; --before) sum.add(0);  // the tensor cores' parts begin there
          for (i64 r = d.begin(e); r < d.end(e); ++r)
            sum.add(value_of(format, a[r * z.out + o]) * value_of(CodeFormat::e4m3, b[r * z.in + i]));
        }
    QuantizedGroupedProduct op{"nf,nh->efh", DType::f32, format, CodeFormat::e4m3};
    op.turned = turned;
    const std::vector<Array> ins = {turned_by(a, op.turn(0), 1, d.bound(), z.out), scale(kX),
                                    turned_by(b, op.turn(1), 1, d.bound(), z.in), scale(kW), d.ends};
    const std::string name = name_of_case(d, z, format, turned, op.spec);
    expect_all(run_quick(op, ins, d.place)[0], want, nullptr, name);
    op.accumulate = true;
    std::vector<Array> more = ins;
    more.push_back(before);
    expect_all(run_quick(op, more, d.place)[0], want, &before, name + " added");
  });
}

TEST(ClearRows, ClearsRowsBehindTheLastOne) {
  for (const auto& [d, sizes] : all_routed())
    for (const i64 width : {1, 24}) {
      const Array x = d.rows_of(DType::bf16, {width}, 3);
      const Array got = run_checked(ClearRows{}, {x, d.ends}, d.place)[0];
      for (i64 i = 0; i < i64(x.x.size()); ++i) ASSERT_EQ(got[i], i < d.rows * width ? x[i] : 0) << d.c.name << i;
    }
}

}  // namespace megalith::kernel_tests
