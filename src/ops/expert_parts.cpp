#include "ops/expert_parts.h"

#include <cmath>

#include "ops/expert_rows.h"

namespace megalith {

ExpertRoom expert_room(i64 tokens, i64 k, i64 experts, i64 ep, std::optional<double> factor) {
  const i64 most = std::min(k, experts / ep);  // maximum rows of a token
  ExpertRoom out{.balanced = (tokens * k + ep - 1) / ep, .worst = tokens * most};
  out.rows = out.worst;
  if (!factor || out.worst == 0) return out;
  const double asked = std::ceil(*factor * double(tokens * k) / double(ep));
  if (asked >= double(out.worst)) return out;
  // Kernels copy pieces of 16 bytes of transposed codes. A large buffer has whole pieces.
  const i64 multiple = asked >= 256 ? 16 : 1;
  out.rows = std::min(out.worst, std::max(most, (i64(asked) + multiple - 1) / multiple * multiple));
  const i64 each = out.rows / most;  // tokens that always fit
  out.parts = (tokens + each - 1) / each;
  return out;
}

std::vector<Type> ExpertParts::infer(const InferArgs& a) const {
  const std::vector<Type> plan = ExpertRows{experts}.infer(a);
  const Type &ends = plan[0], &slots = plan[2];
  check(parts > 0 && rows >= std::min(a.ins[0].dim(2), experts / slots.dim(0)), "{} parts of {} rows", parts, rows);
  Type cuts{DType::i32, {ends.dim(0), slots.dim(0), parts + 1}, ends.layout};
  cuts.layout.dims = {ends.layout.dims[0], slots.layout.dims[0], {}};
  return {cuts};
}

}  // namespace megalith
