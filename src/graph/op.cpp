#include "graph/op.h"

namespace megalith {

double total_bytes(Types ins, Types outs) {
  double bytes = 0;
  for (const Type& t : ins) bytes += double(t.bytes());
  for (const Type& t : outs) bytes += double(t.bytes());
  return bytes;
}

std::vector<Operand> InferArgs::operands() const {
  std::vector<Operand> out;
  out.reserve(ins.size());
  for (size_t i = 0; i < ins.size(); ++i) out.push_back({ins[i].shape, ins[i].layout, wants_grad[i]});
  return out;
}

std::vector<Type> infer_by_rule(const LayoutRule& rule, const InferArgs& a, const std::vector<DType>& dtypes) {
  std::vector<Type> out;
  for (Result& r : infer_layouts(rule, a.operands())) {
    const DType dtype = out.size() < dtypes.size() ? dtypes[out.size()] : a.ins[0].dtype;
    out.push_back({dtype, std::move(r.shape), std::move(r.layout)});
  }
  return out;
}

}  // namespace megalith
