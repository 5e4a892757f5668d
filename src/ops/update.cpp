#include "ops/update.h"

namespace megalith {

static void check_marks(const Type& t) { check(t.dtype == DType::u8, "marks are {}, not u8", to_string(t)); }

std::vector<DType> SumSquares::dtypes(Types ins) const {
  if (marks) check_marks(ins[1]);
  return {DType::f64};
}

LayoutRule AdamW::rule() const {
  const std::string a = letters(ndim), c = copy ? "," + a : "", rows = marks ? "," + letters(1) : "";
  return {.spec = a + "," + a + "," + a + "," + a + ",x,y" + c + rows + "->" + a + "," + a + "," + a + c};
}

std::vector<DType> AdamW::dtypes(Types ins) const {
  if (marks) check_marks(ins.back());
  std::vector<DType> out = {ins[0].dtype, ins[2].dtype, ins[3].dtype};
  if (copy) out.push_back(ins[6].dtype);
  return out;
}

std::vector<Alias> AdamW::aliases() const {
  std::vector<Alias> out = {{0, 0, true}, {1, 2, true}, {2, 3, true}};
  if (copy) out.push_back({3, 6, true});
  return out;
}

LayoutRule Sgd::rule() const {
  const std::string a = letters(ndim), c = copy ? "," + a : "";
  return {.spec = a + "," + a + "," + a + ",x,y" + c + "->" + a + "," + a + c};
}

std::vector<DType> Sgd::dtypes(Types ins) const {
  std::vector<DType> out = {ins[0].dtype, ins[2].dtype};
  if (copy) out.push_back(ins[5].dtype);
  return out;
}

std::vector<Alias> Sgd::aliases() const {
  std::vector<Alias> out = {{0, 0, true}, {1, 2, true}};
  if (copy) out.push_back({2, 5, true});
  return out;
}

}  // namespace megalith
