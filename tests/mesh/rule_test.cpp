#include "mesh/rule.h"

#include <gtest/gtest.h>

#include "tests/error_of.h"

namespace megalith {

namespace {

constexpr Order kRuleZigzag = Order::zigzag;
constexpr AxisSet kA = groups::kv_heads;

// The state of the results on one axis, for inputs of size 4 a letter in the given states; "refused" if the rule says
// so.
struct In {
  State state;
  bool wants_grad = true;
};
constexpr In constant(State s) { return {s, false}; }

std::string outcome(const LayoutRule& rule, const std::vector<In>& ins) {
  const auto names = split_spec(rule.spec).first;
  std::vector<Shape> shapes;
  std::vector<Layout> layouts;
  for (size_t i = 0; i < ins.size(); ++i) {
    shapes.push_back(Shape(names[i].size(), 4));
    Layout l = whole(names[i].size());
    const State s = ins[i].state;
    if (s.is_split()) l.dims[s.dim].add({kA});
    if (s == kPartial) l.partial.insert(kA);
    if (s == kCopy) l.copy.insert(kA);
    layouts.push_back(l);
  }
  std::vector<Operand> operands;
  for (size_t i = 0; i < ins.size(); ++i) operands.push_back({shapes[i], layouts[i], ins[i].wants_grad});
  try {
    std::string out;
    for (const Result& r : infer_layouts(rule, operands)) {
      const State state = r.layout.state(*kA.begin());
      for (Axis a : kAllAxes) EXPECT_EQ(r.layout.state(a), kA.has(a) ? state : kSame);
      out += (out.empty() ? "" : ", ") + to_string(state);
    }
    return out;
  } catch (const Error&) {
    return "refused";
  }
}

const LayoutRule kLinear{.spec = "sbk,nk->sbn", .linear = {{0}, {1}}};
const LayoutRule kAdd{.spec = "sh,h->sh", .linear = {{0, 1}}};
const LayoutRule kNorm{.spec = "sh,h->sh,s", .whole = "h"};
const LayoutRule kMaxRule{.spec = "sv->s", .reduction = Reduction::max};
const LayoutRule kGather{.spec = "s,sh,vh->vh", .linear = {{1}}, .layout_only = {2}};

}  // namespace

TEST(Rule, rotated_and_unrotated_parts_never_meet) {
  Layout home = whole(1), handed_on = whole(1);
  home.dims[0] = {{kA}}, handed_on.dims[0] = {{kA, Order::block, 1}};
  const Shape shape = {4};
  const LayoutRule add{.spec = "t,t->t", .linear = {{0, 1}}};
  EXPECT_THROW(infer_layouts(add, {{shape, home, true}, {shape, handed_on, true}}), Error);
  EXPECT_EQ(infer_layouts(add, {{shape, handed_on, true}, {shape, handed_on, true}})[0].layout, handed_on);
}

TEST(Rule, replicated_work_never_mixes) {
  EXPECT_EQ(outcome(kLinear, {{kSame}, {kSame}}), "Same");
  for (State s : {kCopy, kPartial, split(0), split(1)}) {
    EXPECT_EQ(outcome(kLinear, {{kSame}, {s}}), "refused") << to_string(s);
    EXPECT_EQ(outcome(kLinear, {{s}, {kSame}}), "refused") << to_string(s);
  }
}

TEST(Rule, work_cut_along_a_letter) {
  EXPECT_EQ(outcome(kLinear, {{split(0)}, {kCopy}}), "Split(0)");
  EXPECT_EQ(outcome(kLinear, {{kCopy}, {split(0)}}), "Split(2)");    // column
  EXPECT_EQ(outcome(kLinear, {{split(2)}, {split(1)}}), "Partial");  // row
  EXPECT_EQ(outcome(kLinear, {{split(2)}, {kCopy}}), "refused");     // the weight does not split k
  EXPECT_EQ(outcome(kLinear, {{split(0)}, {split(0)}}), "refused");  // along s and n at once
  EXPECT_EQ(outcome(kLinear, {{split(0)}, {kPartial}}), "refused");
  EXPECT_EQ(outcome(kNorm, {{split(0)}, {kCopy}}), "Split(0), Split(0)");
  EXPECT_EQ(outcome(kNorm, {{split(1)}, {split(0)}}), "refused");  // h must not be split
  EXPECT_EQ(outcome(kMaxRule, {{split(1)}}), "Max");
  EXPECT_EQ(outcome(kMaxRule, {{split(0)}}), "Split(0)");
}

TEST(Rule, own_copies) {
  EXPECT_EQ(outcome(kLinear, {{kCopy}, {kCopy}}), "Copy");
  EXPECT_EQ(outcome(kNorm, {{kCopy}, {kCopy}}), "Copy, Copy");
}

TEST(Rule, pending_sums_pass_where_the_op_is_linear) {
  EXPECT_EQ(outcome(kLinear, {{kPartial}, {kCopy}}), "Partial");
  EXPECT_EQ(outcome(kLinear, {{kCopy}, {kPartial}}), "Partial");
  EXPECT_EQ(outcome(kLinear, {{kPartial}, {kPartial}}), "refused");
  EXPECT_EQ(outcome(kAdd, {{kPartial}, {kPartial}}), "Partial");
  EXPECT_EQ(outcome(kAdd, {{kPartial}, {kCopy}}), "refused");
  EXPECT_EQ(outcome(kAdd, {{kCopy}, {kPartial}}), "refused");
  EXPECT_EQ(outcome(kNorm, {{kPartial}, {kCopy}}), "refused");
  EXPECT_EQ(outcome(kMaxRule, {{kPartial}}), "refused");
}

TEST(Rule, constants_have_no_say_unless_split_or_partial) {
  const LayoutRule masked{.spec = "s,s->", .linear = {{0}, {1}}};
  for (State s : {kSame, kCopy}) {
    EXPECT_EQ(outcome(kLinear, {{kPartial}, constant(s)}), "Partial");
    EXPECT_EQ(outcome(kLinear, {{kSame}, constant(s)}), "Same");
    EXPECT_EQ(outcome(kLinear, {{split(0)}, constant(s)}), "Split(0)");
  }
  EXPECT_EQ(outcome(masked, {{split(0)}, constant(split(0))}), "Partial");
  EXPECT_EQ(outcome(masked, {{split(0)}, constant(kSame)}),
            "refused");  // local sizes differ: the mask does not split s
  EXPECT_EQ(outcome(masked, {{kCopy}, constant(kPartial)}), "Partial");
  EXPECT_EQ(outcome(masked, {{kPartial}, constant(kPartial)}), "refused");
  EXPECT_EQ(outcome(masked, {constant(kSame), constant(kCopy)}), "Copy");
  EXPECT_EQ(outcome(masked, {constant(kSame), constant(kSame)}), "Same");
}

TEST(Rule, a_carrier_counts_only_where_it_is_split) {
  EXPECT_EQ(outcome(kGather, {constant(kSame), {kCopy}, {split(0)}}), "Split(0)");
  EXPECT_EQ(outcome(kGather, {constant(split(0)), {split(0)}, {kCopy}}), "Partial");
  EXPECT_EQ(outcome(kGather, {constant(kSame), {kPartial}, {kCopy}}), "Partial");
  EXPECT_EQ(outcome(kGather, {constant(kSame), {kSame}, {kSame}}), "Same");
  EXPECT_EQ(outcome(kGather, {constant(kSame), {kCopy}, {kSame}}), "Copy");
}

TEST(Rule, a_letter_has_one_size_and_one_axis_list) {
  const Shape a = {4, 8}, b = {8, 4}, c = {4, 6};
  const Layout block{{{{groups::context}}, {}}, {}, {}, {}}, zig{{{{groups::context, kRuleZigzag}}, {}}, {}, {}, {}};
  const LayoutRule product{.spec = "sh,sh->sh", .linear = {{0}, {1}}};
  EXPECT_THROW(infer_layouts(product, {{a, whole(2), true}, {b, whole(2), true}}), Error);
  EXPECT_THROW(infer_layouts(product, {{a, whole(2), true}, {c, whole(2), true}}), Error);
  EXPECT_THROW(infer_layouts(product, {{a, block, true}, {a, zig, true}}), Error);
  EXPECT_EQ(infer_layouts(product, {{a, zig, true}, {a, zig, true}})[0].layout, zig);
  const Layout nested{{{{groups::context}, {groups::kv_heads}}, {}}, {}, {}, {}},
      turned{{{{groups::kv_heads}, {groups::context}}, {}}, {}, {}, {}};
  EXPECT_THROW(infer_layouts(product, {{a, nested, true}, {a, turned, true}}), Error);
  EXPECT_THROW(infer_layouts(product, {{a, whole(2), true}}), Error);         // one input too few
  EXPECT_THROW(infer_layouts({.spec = "sh"}, {{a, whole(2), true}}), Error);  // no arrow
  EXPECT_THROW(infer_layouts({.spec = "sh->shn"}, {{a, whole(2), true}}), Error);
  EXPECT_EQ(infer_layouts({.spec = "sh->shn", .sizes = {{'n', 2}}}, {{a, whole(2), true}})[0].shape, (Shape{4, 8, 2}));
}

TEST(Rule, errors_name_the_axis) {
  const Layout same = whole(2), partial{{{}, {}}, groups::data, {}, {}}, part{{{}, {}}, {Axis::dp_ep}, {}, {}};
  const LayoutRule product{.spec = "sh,sh->sh", .linear = {{0}, {1}}};
  const Shape shape = {4, 8};
  const auto error = [&](const Layout& l) {
    return error_of([&] { infer_layouts(product, {{shape, same, true}, {shape, l, true}}); });
  };
  EXPECT_EQ(error(partial).substr(0, 44), "sh,sh->sh on dp: inputs are Same, Partial: a");
  EXPECT_EQ(error(part).substr(0, 45), "sh,sh->sh on dp_ep: inputs are Same, Partial:");
}

TEST(Rule, axes_are_treated_one_by_one) {
  const Shape x = {8, 8, 8}, w = {8, 8};
  const Layout lx{{{{groups::context}}, {{groups::data}}, {{groups::kv_heads}}}, {groups::query_heads}, {}, {}};
  const Layout lw{{{}, {{groups::kv_heads}}}, {}, {groups::context, groups::data, groups::query_heads}, {}};
  const Result r = infer_layouts(kLinear, {{x, lx, true}, {w, lw, true}})[0];
  EXPECT_EQ(to_string(r.layout), "{cp, dp,  | partial tp_kv tp_rep}");
}

}  // namespace megalith
