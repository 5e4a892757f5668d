// Random routings of tokens to experts. The ops of experts' rows give the same layer as a plain loop over experts. The
// result does not depend on the content beyond the rows, or on the numbers of experts.
#include "tests/kernels/routings.h"

namespace megalith::kernel_tests {

namespace {

// f(case, seed) for all routings, up to the first failure.
template <class F>
void for_all_routings(F&& f) {
  for (u64 seed = 0; seed < kRoutings && !testing::Test::HasFailure(); ++seed) {
    const Case c = random_case(seed);
    SCOPED_TRACE(fmt::format("routing {}: {} tokens, {} of {} experts, ep {}", seed, c.s * c.b, c.k, c.experts, c.ep));
    f(c, seed);
  }
}

}  // namespace

TEST(Routings, AreOfAllKinds) {
  int all = 0, empty = 0, one = 0, dropped = 0, shared = 0;
  for (u64 seed = 0; seed < kRoutings; ++seed) {
    const Case c = random_case(seed);
    std::vector<i64> n(size_t(c.experts));
    for (const i64 e : c.given)
      if (e >= 0) ++n[size_t(e)];
    all += c.k == c.experts, empty += std::ranges::count(n, 0) > 0, dropped += std::ranges::count(c.given, -1) > 0;
    one += c.s * c.b > 1 && std::ranges::count(n, c.s * c.b) == c.k && c.experts > c.k, shared += c.ep > 1;
  }
  for (const int kind : {all, empty, one, dropped, shared}) EXPECT_GE(kind, 80);
}

// Plan, rows and weights are copies, and a token's rows are added in the order of its slots. So all is equal to the
// bit.
TEST(Routings, MoveTokensExactly) {
  for_all_routings([](Case c, u64 seed) {
    for (c.rank = 0; c.rank < c.ep; ++c.rank) {
      const Dispatch d(c);
      const auto plan = run_quick(ExpertRows{c.experts}, {d.choice}, d.place);
      EXPECT_EQ(plan[0].x, d.want_ends);
      EXPECT_EQ(Numbers(plan[1].x.begin(), plan[1].x.begin() + d.rows), d.want_source);
      EXPECT_EQ(plan[2].x, d.want_slots);
      const Array x = d.tokens_of(DType::f32, kHidden, seed), rows = d.rows_of(DType::f32, {kHidden}, seed + 1);
      const Array gathered = run_quick(GatherRows{}, d.with_plan(x), d.place)[0];
      const Array sums = run_quick(CombineRows{}, d.with_plan(rows), d.place)[0];
      double there = 0, back = 0, size = 1;
      for (i64 i = 0; i < d.rows * kHidden; ++i) {
        EXPECT_EQ(gathered[i], x[i64(d.want_source[size_t(i / kHidden)]) * kHidden + i % kHidden]);
        there += gathered[i] * rows[i], size += std::abs(gathered[i] * rows[i]);
      }
      for (i64 i = 0; i < i64(sums.x.size()); ++i) {
        float sum = 0;
        for (i64 j = 0; j < c.k; ++j)
          if (const double row = d.want_slots[size_t(i / kHidden * c.k + j)]; row >= 0)
            sum += float(rows[i64(row) * kHidden + i % kHidden]);
        EXPECT_EQ(sums[i], double(sum));
        back += sums[i] * x[i];
      }
      EXPECT_NEAR(there, back,
                  double(c.k) * arithmetic_error(DType::f32) * size);  // <rows, gather x> = <combine rows, x>
    }
  });
}

TEST(Routings, GiveWhatALoopOverExpertsGives) {
  for_all_routings([](const Case& c, u64 seed) {
    const Numbered l = layer_of(c, 10 * seed);
    expect_close(by_ops(c, l), by_loop(c, l));
  });
}

TEST(Routings, ReadNothingBehindTheRows) {
  for_all_routings([](const Case& c, u64 seed) {
    const Numbered l = layer_of(c, 10 * seed);
    EXPECT_EQ(by_ops(c, l), by_ops(c, l, 0));
  });
}

namespace {

// A permutation of the experts: expert e becomes to[e].
struct Renumbered {
  Case c;
  Numbered l;
  std::vector<i64> to, slot;  // by expert; for each slot its index before
};

Renumbered renumbered(const Case& c, const Numbered& l, u64 seed) {
  Renumbered out{c, l, std::vector<i64>(size_t(c.experts)), {}};
  std::iota(out.to.begin(), out.to.end(), 0);
  for (i64 e = c.experts - 1; e > 0; --e)
    std::swap(out.to[size_t(e)], out.to[size_t(mix_all(seed, 5, e) % u64(e + 1))]);
  for (i64 t = 0; t < c.s * c.b; ++t) {
    std::vector<std::pair<i64, i64>> slots;  // new expert, old slot
    for (i64 i = t * c.k; i < (t + 1) * c.k; ++i)
      slots.push_back({c.given[size_t(i)] < 0 ? -1 : out.to[size_t(c.given[size_t(i)])], i});
    std::ranges::stable_sort(slots);
    for (size_t j = 0; j < slots.size(); ++j) {
      const size_t at = size_t(t * c.k) + j;
      out.c.given[at] = slots[j].first, out.l.p[at] = l.p[size_t(slots[j].second)];
      out.slot.push_back(slots[j].second);
    }
  }
  const auto move = [&](const Numbers& from, Numbers& into) {
    const i64 each = i64(from.size()) / c.experts;
    for (i64 e = 0; e < c.experts; ++e)
      std::copy_n(from.begin() + e * each, each, into.begin() + out.to[size_t(e)] * each);
  };
  move(l.w1, out.l.w1), move(l.w2, out.l.w2);
  return out;
}

}  // namespace

// Permuted experts have the same tokens, and permuted gradients.
TEST(Routings, DoNotDependOnTheNumbersOfExperts) {
  for_all_routings([](const Case& c, u64 seed) {
    const Numbered l = layer_of(c, 10 * seed);
    const Renumbered other = renumbered(c, l, seed);
    const Results want = by_ops(c, l), moved = by_ops(other.c, other.l);
    Results got = moved;
    const auto back = [&](const Numbers& from, Numbers& into) {
      const i64 each = i64(from.size()) / c.experts;
      for (i64 e = 0; e < c.experts; ++e)
        std::copy_n(from.begin() + other.to[size_t(e)] * each, each, into.begin() + e * each);
    };
    back(moved.dw1, got.dw1), back(moved.dw2, got.dw2);
    for (size_t i = 0; i < other.slot.size(); ++i) got.dp[size_t(other.slot[i])] = moved.dp[i];
    expect_close(got, want);
  });
}

}  // namespace megalith::kernel_tests
