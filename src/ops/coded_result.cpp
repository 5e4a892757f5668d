#include "ops/coded_result.h"

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

std::vector<Type> CodedResult::infer(const InferArgs& a) const {
  std::vector<Type> out;
  int own = int(a.ins.size()), results = 0;
  for (const Quantize& cast : casts) own -= cast.inputs() - 1, results += cast.results();
  if (own < 1) fail("[{}] {} inputs", name, a.ins.size());
  std::vector<Type> made(a.ins.begin(), a.ins.begin() + own);
  if (op) made = op->infer({a.mesh, made, {a.wants_grad.begin(), a.wants_grad.begin() + own}});
  if (made.at(0) != values) fail("[{}] casts {}, not {}", name, to_string(made[0]), to_string(values));
  out.assign(made.begin() + 1, made.end());
  const size_t first = op ? 1 : 0;
  const std::vector<Part> all = parts(a.ins.size(), out.size() + size_t(results));
  for (size_t k = first; k < all.size(); ++k) {
    const std::vector<Type> ins = of_part<Type>(all[k].ins, a.ins, values);
    for (const Type& t : all[k].op.infer({a.mesh, ins, std::vector<bool>(ins.size())})) out.push_back(t);
  }
  return out;
}

}  // namespace megalith
