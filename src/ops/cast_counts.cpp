#include "ops/cast_counts.h"

namespace megalith {

std::vector<Type> CollectCounts::infer(const InferArgs& a) const {
  const Type& seen = a.ins.at(0);
  check(a.ins.size() == 1 + places.size() && elements.size() == places.size() && seen.dtype == DType::f64 &&
            seen.ndim() == 2 && seen.dim(1) == kCastCounts,
        "{} places of {} counts in {}", places.size(), a.ins.size() - 1, to_string(seen));
  for (size_t i = 0; i < places.size(); ++i)
    check(a.ins[i + 1].dtype == DType::i64 && a.ins[i + 1].elements() == 2 && places[i] >= 0 && places[i] < seen.dim(0),
          "counts {} to place {} of {}", to_string(a.ins[i + 1]), places[i], seen.dim(0));
  return {seen};
}

bool counts_here(const Mesh& mesh, const Coord& coord, const Type& counts) {
  AxisSet alike = groups::stage;
  alike.erase(counts.layout.partial);
  return mesh.place(coord, mesh.used(alike)) == 0;
}

}  // namespace megalith
