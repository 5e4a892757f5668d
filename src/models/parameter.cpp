#include "models/parameter.h"

#include "base/rng.h"

namespace megalith {

std::vector<Parameter> unpacked(const std::vector<Parameter>& parameters) {
  std::vector<Parameter> out;
  for (const Parameter& p : parameters) {
    if (p.parts.empty())
      out.push_back(p);
    else
      out.insert(out.end(), p.parts.begin(), p.parts.end());
  }
  return out;
}

LeafSpec leaf_of(const Parameter& p, std::string (*name)(const std::string&), const Type& type, Role role) {
  LeafSpec leaf{name(p.name), type, role, role == Role::parameter};
  for (const Parameter& part : p.parts) leaf.parts.push_back({name(part.name), part.type.shape});
  return leaf;
}

Draw start_of(const Parameter& p, u64 seed) {
  return {mix(seed, hash_name(p.name)), p.initial.mean, p.initial.std, p.true_rows, p.initial.uniform};
}

void init_parameter(const Parameter& p, const Mesh& mesh, const Coord& coord, u64 seed, float* out) {
  draw(start_of(p, seed), p.type, mesh, coord, out);
}

}  // namespace megalith
