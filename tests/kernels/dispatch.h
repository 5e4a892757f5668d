// For tests of experts' kernels: choices of experts, the plan by its definition, and a rank's rows. Input rows beyond
// the count are NaN, and output rows there must stay 0.
#pragma once
#include <limits>

#include "ops/expert_rows.h"
#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

struct Case {
  const char* name;
  i64 s, b, k, experts;
  int ep = 1, rank = 0;
  i64 (*expert)(i64 token, i64 slot, i64 k, i64 experts) = nullptr;  // ascending by slot, -1: none; null: random
  std::vector<i64> given = {};                                       // experts of all slots; it overrides `expert`
};

// k random experts for each token.
inline std::vector<i64> some_experts(i64 token, i64 k, i64 experts) {
  std::vector<i64> out;
  for (i64 e = 0; e < experts; ++e)
    if (i64(mix_all(31, token, e) % u64(experts - e)) < k - i64(out.size())) out.push_back(e);
  return out;
}

struct Dispatch {
  Case c;
  Place place;
  Array choice, ends, source, slots;
  i64 rows = 0;
  std::vector<double> want_ends, want_source, want_slots;  // what the rank should have

  explicit Dispatch(const Case& of) : c(of) {
    place.mesh = make_mesh({.dp = c.ep, .ep = c.ep, .etp = 1});
    place.coord = place.mesh.coord(c.rank);
    choice = array(DType::i32, {c.s, c.b, c.k}, [&](i64 i) {
      const i64 token = i / c.k, slot = i % c.k;
      if (!c.given.empty()) return double(c.given[size_t(i)]);
      if (c.expert) return double(c.expert(token, slot, c.k, c.experts));
      return double(some_experts(token, c.k, c.experts)[size_t(slot)]);
    });
    choice.type.layout.copy = groups::expert;
    define();
    const std::vector<Type> types =
        ExpertRows{c.experts}.infer({place.mesh, {choice.type}, std::vector<bool>(1, false)});
    std::vector<double> padded = want_source;
    padded.resize(size_t(count(local_shape(place.mesh, types[1].shape, types[1].layout))), 1 << 30);
    ends = {types[0], want_ends}, source = {types[1], padded}, slots = {types[2], want_slots};
  }

  i64 bound() const { return i64(source.x.size()); }
  i64 tokens() const { return c.s * c.b; }

  // [s,b,width]
  Array tokens_of(DType dtype, i64 width, u64 seed) const {
    Array a = normals(dtype, {c.s, c.b, width}, seed);
    a.type.layout.copy = groups::expert;
    return a;
  }
  // [n, rest...] with NaN beyond the count.
  Array rows_of(DType dtype, const Shape& rest, u64 seed) const {
    Shape local = rest;
    local.insert(local.begin(), bound());
    Array a = normals(dtype, local, seed);
    const i64 width = count(rest);
    for (i64 i = rows * width; i < bound() * width; ++i) a[i] = std::numeric_limits<double>::quiet_NaN();
    a.type.shape[0] = source.type.shape[0];
    a.type.layout.dims[0] = source.type.layout.dims[0];
    return a;
  }
  // A weight [e, rest...].
  Array weight(DType dtype, const Shape& rest, u64 seed) const {
    Shape local = rest;
    local.insert(local.begin(), i64(ends.x.size()));
    Array a = normals(dtype, local, seed, 0.5);
    a.type.shape[0] = c.experts;
    a.type.layout.dims[0].add({groups::expert});
    return a;
  }
  std::vector<Array> with_plan(const Array& a) const { return {a, ends, source, slots}; }
  i64 begin(i64 e) const { return e ? i64(want_ends[size_t(e - 1)]) : 0; }
  i64 end(i64 e) const { return i64(want_ends[size_t(e)]); }

 private:
  void define() {
    const i64 each = c.experts / c.ep, first = each * c.rank;
    want_slots.assign(choice.x.size(), -1);
    for (i64 e = first; e < first + each; ++e) {
      for (i64 i = 0; i < i64(choice.x.size()); ++i) {
        if (choice[i] != double(e)) continue;
        want_slots[size_t(i)] = double(rows++);
        want_source.push_back(double(i / c.k));
      }
      want_ends.push_back(double(rows));
    }
  }
};

// The first `n` numbers are as expected. The rest is still 0, because nothing wrote it.
inline void expect_rows(const Array& got, const std::vector<double>& want, const Tolerance& tol,
                        const std::string& what) {
  Array head = got;
  head.x.resize(want.size());
  expect_near(head, want, tol, what);
  for (size_t i = want.size(); i < got.x.size(); ++i) ASSERT_EQ(got.x[i], 0) << what << ": wrote behind the rows";
}

inline const std::vector<Case>& dispatch_cases() {
  static const std::vector<Case> all = {
      {"any", 5, 3, 2, 6},
      {"any_first_half", 5, 4, 3, 6, 2, 0},
      {"any_second_half", 5, 4, 3, 6, 2, 1},
      {"all_experts", 3, 2, 4, 4},
      {"one_expert", 4, 2, 1, 5, 1, 0, [](i64, i64, i64, i64) { return i64{3}; }},
      {"one_expert_elsewhere", 4, 2, 1, 4, 2, 0, [](i64, i64, i64, i64) { return i64{3}; }},
      {"one_expert_here", 4, 2, 1, 4, 2, 1, [](i64, i64, i64, i64) { return i64{3}; }},
      {"odd_experts_alone", 5, 3, 1, 6, 1, 0, [](i64 t, i64, i64, i64) { return t % 3 * 2 + 1; }},
      {"some_dropped", 5, 3, 2, 4, 1, 0,
       [](i64 t, i64 j, i64, i64) { return t % 3 == 2   ? -1
                                           : t % 3 == j ? i64{2}
                                                        : j; }},
      {"many", 96, 8, 4, 40},
      {"many_second_part", 96, 8, 4, 40, 4, 1},
  };
  return all;
}

}  // namespace megalith::kernel_tests
