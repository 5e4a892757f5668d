#include "ops/embedding.h"

namespace megalith {

std::vector<Value> Embedding::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {{}, b.add1(EmbeddingGrad{b.grad_dtype(n.ins[1])}, {n.ins[0], dys[0], n.ins[1]})};
}

std::vector<Type> EmbeddingGrad::infer(const InferArgs& a) const {
  check(!marks || (accumulate && a.mesh.num_ranks() == 1 && a.ins[3].dtype == DType::u8),
        "marks are u8, of an accumulator on one rank");
  std::vector<DType> dtypes = {dtype};
  if (marks) dtypes.push_back(DType::u8);
  std::vector<Type> out = infer_by_rule(rule(), a, dtypes);
  if (accumulate) check(a.ins[2] == out[0], "adds {} into {}", to_string(out[0]), to_string(a.ins[2]));
  return out;
}

Cost EmbeddingGrad::cost(Types ins, Types outs) const {
  const double rows = double(ins[0].bytes() + 3 * ins[1].bytes());
  return {double(ins[1].elements()), rows + (accumulate ? 0 : double(outs[0].bytes()))};
}

std::vector<Alias> EmbeddingGrad::aliases() const {
  std::vector<Alias> out;
  if (accumulate) out.push_back({0, 2, true});
  if (marks) out.push_back({1, 3, true});
  return out;
}

}  // namespace megalith
