#include "mesh/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <climits>

namespace megalith {

std::pair<std::vector<std::string>, std::vector<std::string>> split_spec(const std::string& spec) {
  const size_t arrow = spec.find("->");
  check(arrow != std::string::npos, "spec '{}' has no '->'", spec);
  auto sides = [](const std::string& s) {
    std::vector<std::string> out(1);
    for (char c : s)
      if (c == ',')
        out.emplace_back();
      else
        out.back() += c;
    return out;
  };
  return {sides(spec.substr(0, arrow)), sides(spec.substr(arrow + 2))};
}

namespace {

bool contains(const std::vector<int>& v, int x) { return std::find(v.begin(), v.end(), x) != v.end(); }
bool contains(const std::string& s, char c) { return s.find(c) != std::string::npos; }

// Sizes and axis lists by letter; a letter has one of each in all inputs that carry it. Tables, because rules are asked
// very often.
struct Letters {
  static constexpr size_t kCount = UCHAR_MAX + 1;
  std::bitset<kCount> known;  // letters with a size
  std::array<i64, kCount> sizes;
  std::array<const AxisList*, kCount> axes{};  // of an input; null: only results have the letter

  // The size of `c`, which is `n` if it was not known.
  i64 size(char c, i64 n) {
    const size_t i = u8(c);
    if (!known[i]) known.set(i), sizes[i] = n;
    return sizes[i];
  }
};

Letters read_letters(const LayoutRule& rule, const std::vector<std::string>& names, const std::vector<Operand>& ins) {
  check(names.size() == ins.size(), "{}: got {} inputs", rule.spec, ins.size());
  Letters l;
  for (auto& [letter, n] : rule.sizes) l.known.set(u8(letter)), l.sizes[u8(letter)] = n;
  for (size_t i = 0; i < ins.size(); ++i) {
    if (names[i].size() != ins[i].shape.size())  // texts are made for errors only: rules are asked very often
      fail("{}: input {} has shape {}", rule.spec, i, to_string(ins[i].shape));
    for (size_t d = 0; d < names[i].size(); ++d) {
      const char c = names[i][d];
      const i64 n = ins[i].shape[d], known = l.size(c, n);
      check(known == n, "{}: {} is {} in one input and {} in another", rule.spec, c, known, n);
      const AxisList*& axes = l.axes[u8(c)];
      if (!axes) axes = &ins[i].layout.dims[d];
      if (*axes != ins[i].layout.dims[d])
        fail("{}: {} is split differently in two inputs: {} and {}", rule.spec, c,
             to_string(Layout{{*axes}, {}, {}, {}}), to_string(Layout{{ins[i].layout.dims[d]}, {}, {}, {}}));
    }
  }
  return l;
}

using States = std::vector<std::array<State, kAxes>>;  // by input and axis

// Names the dense axis where all its parts are in the same states.
std::string describe(const LayoutRule& rule, Axis a, const States& states) {
  std::string list;
  bool alike = true;
  for (const auto& of : states) {
    list += (list.empty() ? "" : ", ") + to_string(of[size_t(a)]);
    for (Axis part : atoms_of(dense_axis(a))) alike &= of[size_t(part)] == of[size_t(a)];
  }
  return fmt::format("{} on {}: inputs are {}", rule.spec, to_string(alike ? atoms_of(dense_axis(a)) : AxisSet(a)),
                     list);
}

// The rule for one axis: the resulting state of each result. A split letter gives Split if the result has it.
struct Outcome {
  State put;     // on every result, unless cut
  char cut = 0;  // the work is cut along this letter
};

Outcome outcome(const LayoutRule& rule, const std::vector<std::string>& names, const std::vector<Operand>& ins,
                const States& all, Axis a) {
  const auto state = [&](size_t i) { return all[i][size_t(a)]; };
  const auto is_free = [&](size_t i) {  // constants equal everywhere, and carriers that are not split, have no say
    const State s = state(i);
    return (contains(rule.layout_only, int(i)) && !s.is_split()) || (!ins[i].wants_grad && (s == kSame || s == kCopy));
  };
  bool any_live = false, any_same = false, any_other = false, any_partial = false, any_odd = false, any_copy = false;
  std::string cuts;  // letters, each once
  for (size_t i = 0; i < ins.size(); ++i) {
    const State s = state(i);
    any_copy |= s == kCopy;
    if (s.is_split() && !contains(cuts, names[i][s.dim])) cuts += names[i][s.dim];
    if (is_free(i)) continue;
    any_live = true;
    (s == kSame ? any_same : any_other) = true;
    any_partial |= s == kPartial;
    any_odd |= !(s == kPartial || s == kCopy);
  }
  auto refuse = [&](const std::string& why) { fail("{}: {}", describe(rule, a, all), why); };
  if (!any_live) return {any_copy ? kCopy : kSame};
  if (any_same) {
    if (any_other) refuse("a Same value meets another state: relayout it to Copy");
    return {kSame};
  }
  if (!cuts.empty()) {
    if (cuts.size() > 1) refuse("split along two dims at once: gather one");
    const char c = cuts[0];
    if (contains(rule.whole, c)) refuse(fmt::format("{} must not be split: gather it", c));
    for (size_t i = 0; i < ins.size(); ++i)
      if (!is_free(i) && !contains(names[i], c) && state(i) != kCopy)
        refuse(fmt::format("input {} has no {} and must be Copy", i, c));
    return {kSame, c};
  }
  if (!any_partial && !any_odd) return {kCopy};
  std::vector<int> partial;
  for (size_t i = 0; i < ins.size(); ++i)
    if (!is_free(i) && state(i) == kPartial) partial.push_back(int(i));
  if (any_odd || std::find(rule.linear.begin(), rule.linear.end(), partial) == rule.linear.end())
    refuse("the op is not linear in the partial sum: reduce it first");
  return {kPartial};
}

}  // namespace

std::vector<Result> infer_layouts(const LayoutRule& rule, const std::vector<Operand>& ins) {
  const auto [in_names, out_names] = split_spec(rule.spec);
  const Letters letters = read_letters(rule, in_names, ins);
  std::vector<Result> out;
  for (const std::string& names : out_names) {
    Result r;
    r.shape.reserve(names.size()), r.layout.dims.reserve(names.size());
    for (char c : names) {
      check(letters.known[u8(c)], "{}: the size of {} is not known", rule.spec, c);
      const AxisList* axes = letters.axes[u8(c)];
      r.shape.push_back(letters.sizes[u8(c)]);
      r.layout.dims.push_back(axes ? *axes : AxisList{});
    }
    out.push_back(std::move(r));
  }
  States states;
  for (const Operand& in : ins) states.push_back(in.layout.states());
  Outcome o;  // that of an axis holds for the next one too if the states are the same
  for (Axis a : kAllAxes) {
    const size_t i = size_t(a);
    const auto all = [&](auto&& is) { return std::all_of(states.begin(), states.end(), is); };
    if (all([&](const auto& of) { return of[i] == kSame; })) continue;  // so are the results
    if (i == 0 || !all([&](const auto& of) { return of[i] == of[i - 1]; })) o = outcome(rule, in_names, ins, states, a);
    for (size_t k = 0; k < out.size(); ++k) {
      Layout& l = out[k].layout;
      if (o.cut && !contains(out_names[k], o.cut)) (rule.reduction == Reduction::max ? l.max : l.partial).insert(a);
      if (o.cut) continue;
      if (o.put == kCopy) l.copy.insert(a);
      if (o.put == kPartial) l.partial.insert(a);
    }
  }
  return out;
}

}  // namespace megalith
