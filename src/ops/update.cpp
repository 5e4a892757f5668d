#include "ops/update.h"

namespace megalith {

static void check_marks(const Type& t) { check(t.dtype == DType::u8, "marks are {}, not u8", to_string(t)); }

std::vector<DType> SumSquares::dtypes(Types ins) const {
  if (marks) check_marks(ins[1]);
  check(!rest || (!marks && ins[0].dtype == DType::bf16 && ins[1].dtype == DType::u16),
        "{} lacks nothing of {}: bf16 and u16 are parts of f32", to_string(ins[0]), to_string(ins.back()));
  return {DType::f64};
}

std::vector<Type> Update::infer(const InferArgs& a) const {
  check(a.ins.size() == size_t(marks_at() + marks), "{} inputs for an update by {}", a.ins.size(), name_of(rule));
  if (marks) check_marks(a.ins.back());
  const std::string x = letters(ndim), next = fmt::format(",{}", x);
  std::string ins = fmt::format("{0},{0}", x), outs = x;
  std::vector<DType> dtypes = {a.ins[0].dtype};
  for (int k = 0; k < states(); ++k) ins += next, outs += next, dtypes.push_back(a.ins[size_t(2 + k)].dtype);
  ins += ",x,y";
  if (copy) ins += next, outs += next, dtypes.push_back(a.ins[size_t(copy_at())].dtype);
  if (marks) ins += fmt::format(",{}", letters(1));
  return infer_by_rule({.spec = fmt::format("{}->{}", ins, outs)}, a, dtypes);
}

std::vector<Alias> Update::aliases() const {
  std::vector<Alias> out = {{0, 0, true}};
  for (int k = 0; k < states(); ++k) out.push_back({1 + k, 2 + k, true});
  if (copy) out.push_back({1 + states(), copy_at(), true});
  return out;
}

}  // namespace megalith
