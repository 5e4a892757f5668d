#include "passes/tally.h"

#include <algorithm>

#include "ops/tally.h"
#include "optim/update.h"

namespace megalith {

namespace {

// If several ranks have the same value, one rank has it as a term.
Value as_term(Builder& b, Value v) {
  const Layout& l = b.type(v).layout;
  AxisSet copy = l.copy & groups::stage, same;
  for (Axis a : groups::stage)
    if (l.state(a) == kSame) same.insert(a);
  if (!copy.empty()) v = b.relayout(v, copy, kPartial);
  return same.empty() ? v : b.relayout(v, same, kPartial);
}

Value same_everywhere(Builder& b, Value v) {
  const AxisSet copy = b.type(v).layout.copy;
  return copy.empty() ? v : b.relayout(v, copy, kSame);
}

}  // namespace

const TallyPlace& TallyPlaces::of(const std::string& name) const {
  const auto it = std::ranges::find(*this, name, &TallyPlace::name);
  check(it != end(), "{} is not a tally of the model: list it in tallies()", name);
  return *it;
}

TallyPlaces tally_places(const std::vector<std::string>& terms, const std::vector<TallySpec>& tallies) {
  TallyPlaces out;
  const auto add = [&](const std::string& name, i64 size) { out.push_back({name, out.numbers(), size}); };
  for (size_t i = 1; i < terms.size(); ++i) add(terms[i] + " sum", 1), add(terms[i] + " weight", 1);
  for (const TallySpec& t : tallies) add(t.name, t.size);
  return out;
}

Value tally_leaf(Builder& b, const TallyPlaces& places, const std::string& suffix) {
  Type type{DType::f64, {places.numbers()}, whole(1)};
  type.layout.partial = groups::stage;
  return places.empty() ? Value{} : b.leaf({kTally + suffix, type, Role::scalar});
}

Value accumulate_tallies(Builder& b, const TallyPlaces& places, const Built& piece, bool has_loss,
                         const std::string& suffix) {
  b.set_phase(Phase::backward), b.set_module("tally");
  Value sums = tally_leaf(b, places, suffix);
  const auto add = [&](const std::string& name, Value v) {
    const TallyPlace& place = places.of(name);
    check(b.type(v).elements() == place.size, "{} has {} numbers: the model says {}", name, b.type(v).elements(),
          place.size);
    sums = b.add1(AddInto{b.type(v).ndim(), place.at}, {sums, as_term(b, v)});
  };
  for (size_t i = has_loss; i < piece.terms.size(); ++i)
    add(piece.terms[i].name + " sum", piece.terms[i].sum), add(piece.terms[i].name + " weight", piece.terms[i].weight);
  for (const Tally& t : piece.tallies) add(t.name, t.value);
  return sums;
}

Value total_of_tallies(Builder& b, const std::vector<Value>& pieces) {
  b.set_phase(Phase::update), b.set_module("tally");
  Value sums;
  for (Value piece : pieces) sums = sums ? b.add1(AddGrad{1}, {sums, piece}) : piece;
  return reduced(b, stage_term(b, sums));
}

void update_at_end(Builder& b, const std::vector<Untrained>& untrained, const TallyPlaces& places, Value total,
                   Value scalars) {
  b.set_phase(Phase::update), b.set_module("untrained state");
  for (const Untrained& u : untrained) {
    if (!u.at_end) continue;
    const TallyPlace& place = places.of(u.follows);
    const Value tensor = b.leaf({u.tensor.name, u.tensor.type, Role::cache});
    const Value seen = b.add1(ReadFrom{place.at, place.size}, {total});
    b.add1(*u.at_end, {tensor, seen, same_everywhere(b, scalars)});
  }
}

}  // namespace megalith
