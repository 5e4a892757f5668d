#include "ops/coded_result.h"

#include <algorithm>
#include <numeric>

namespace megalith {

static std::vector<int> numbers(int from, int n) {
  std::vector<int> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), from);
  return out;
}

std::vector<CodedResult::Part> CodedResult::parts(size_t ins, size_t outs) const {
  int in = int(ins), out = int(outs);  // of the op
  for (const Quantize& cast : casts) in -= cast.inputs() - 1, out -= cast.results();
  if (casts.empty() || out < 0 || (op ? in < 0 : in != 1 || out != 0))
    fail("[{}] {} inputs, {} results", name, ins, outs);
  std::vector<Part> parts;
  if (op) {
    parts.push_back({*op, numbers(0, in), {kValues}});
    for (const int i : numbers(0, out)) parts[0].outs.push_back(i);
  }
  for (const Quantize& cast : casts) {
    Part part{cast, {op ? kValues : 0}, numbers(out, cast.results())};
    for (const int i : numbers(in, cast.inputs() - 1)) part.ins.push_back(i);
    in += cast.inputs() - 1, out += cast.results();
    parts.push_back(part);
  }
  return parts;
}

// The number of inputs of the op, or 1.
static size_t own_inputs(const CodedResult& op, size_t ins) {
  for (const Quantize& cast : op.casts) ins -= std::min(ins, size_t(cast.inputs() - 1));
  if (ins < 1) fail("[{}] {} inputs of its op", op.name, ins);
  return ins;
}

std::vector<Type> CodedResult::infer(const InferArgs& a) const {
  const auto own = i64(own_inputs(*this, a.ins.size()));
  std::vector<Type> made(a.ins.begin(), a.ins.begin() + own);
  if (op) made = op->infer({a.mesh, made, {a.wants_grad.begin(), a.wants_grad.begin() + own}});
  if (made.at(0) != values) fail("[{}] casts {}, not {}", name, to_string(made[0]), to_string(values));
  std::vector<Type> out(made.begin() + 1, made.end());
  size_t results = out.size();
  for (const Quantize& cast : casts) results += size_t(cast.results());
  const std::vector<Part> all = parts(a.ins.size(), results);
  for (size_t k = op ? 1 : 0; k < all.size(); ++k) {
    const std::vector<Type> ins = of_part<Type>(all[k].ins, a.ins, values);
    for (const Type& t : all[k].op.infer({a.mesh, ins, std::vector<bool>(ins.size())})) out.push_back(t);
  }
  return out;
}

Cost CodedResult::cost(Types ins, Types outs) const {
  double flops = op ? op->cost(ins.first(own_inputs(*this, ins.size())), {}).flops : 0;
  for (const Part& part : parts(ins.size(), outs.size()))
    if (part.op.get_if<Quantize>()) flops += 4 * double(outs[size_t(part.outs[0])].elements());
  return {flops, total_bytes(ins, outs)};
}

}  // namespace megalith
