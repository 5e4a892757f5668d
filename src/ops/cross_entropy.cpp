#include "ops/cross_entropy.h"

namespace megalith {

std::vector<Value> VocabSums::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(VocabSumsGrad{vocab}, {dys[0], n.ins[0], n.ins[1], n.ins[2]}), {}, {}};
}

std::vector<Value> CrossEntropy::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(CrossEntropyGrad{}, {dys[0], n.ins[0]})};
}

}  // namespace megalith
