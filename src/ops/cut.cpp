#include "ops/cut.h"

#include "graph/relayout_op.h"
#include "ops/scale.h"

namespace megalith {

// x's letters, with the letter `at` replaced by `to`.
static std::string part(std::string x, char at, char to) {
  const size_t place = x.find(at);
  check(place != std::string::npos, "[cut, join] {} has no letter {}", x, at);
  x[place] = to;
  return x;
}

static constexpr char kFirst = 'y', kSecond = 'z';

LayoutRule Cut::rule() const {
  return {.spec = x + "->" + part(x, at, kFirst) + "," + part(x, at, kSecond),
          .linear = {{0}},
          .whole = {at},
          .sizes = {{kFirst, first}, {kSecond, second}}};
}

Value or_zeros(Builder& b, Value cotangent, Value result) {
  if (cotangent) return cotangent;
  const Type type = b.type(result);  // a copy, because nodes are added
  return b.add1(Scale{type.ndim(), 0}, {b.add1(Ones{type.dual(type.dtype)}, {})});
}

std::vector<Value> Cut::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(Join{x, at, first, second}, {or_zeros(b, dys[0], n.outs[0]), or_zeros(b, dys[1], n.outs[1])})};
}

LayoutRule Join::rule() const {
  return {.spec = part(x, at, kFirst) + "," + part(x, at, kSecond) + "->" + x,
          .linear = {{0, 1}},
          .whole = {kFirst, kSecond},
          .sizes = {{at, first + second}}};
}

std::vector<Value> Join::grad(Builder& b, const Node&, std::span<const Value> dys) const {
  return b.add(Cut{x, at, first, second}, {dys[0]});
}

}  // namespace megalith
