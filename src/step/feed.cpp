#include "step/feed.h"

namespace megalith {

Feed::Feed(const Plan& plan, const std::vector<DataInput>& inputs, Interpreter& interpreter, const Coord& coord,
           std::string suffix)
    : interpreter_(interpreter) {
  for (const DataInput& input : inputs) {
    const Leaf* leaf = plan.find_leaf(input.name + suffix);
    if (!leaf) continue;  // this piece has no use for it
    Target to{input.name, leaf, input.required, input.make, 0, 1, {}};
    const Type& type = leaf->type;
    if (type.ndim() > 1) {
      to.seq = type.dim(0);
      to.positions = indices(plan.mesh, type.shape, type.layout, coord, 0);
    }
    to.sequences = local_type(plan.mesh, type).dim(type.ndim() - 1);
    targets_.push_back(std::move(to));
  }
}

template <class T>
void Feed::put(const Target& to, const std::vector<T>& values, int slot) {
  check(to.leaf->type.dtype == dtype_of<T>::value, "array {} of a batch is {}: the model reads {}", to.array,
        name_of(dtype_of<T>::value), name_of(to.leaf->type.dtype));
  check(i64(values.size()) == to.sequences * to.seq, "array {} of a batch has {} numbers: the plan reads {} x {}",
        to.array, values.size(), to.sequences, to.seq);
  if (to.positions.empty()) return interpreter_.write(*to.leaf, values.data(), slot);
  const i64 held = i64(to.positions.size());
  staging_.resize(size_t(held * to.sequences) * sizeof(T));
  T* out = reinterpret_cast<T*>(staging_.data());
  for (i64 b = 0; b < to.sequences; ++b)
    for (i64 s = 0; s < held; ++s) out[s * to.sequences + b] = values[size_t(b * to.seq + to.positions[size_t(s)])];
  interpreter_.write(*to.leaf, out, slot);
}

void Feed::operator()(const Batch& batch, int slot) {
  for (const Target& to : targets_) {
    const auto array = batch.arrays.find(to.array);
    const auto write = [&](const Batch::Array& from) {
      std::visit([&](const auto& values) { put(to, values, slot); }, from);
    };
    if (array == batch.arrays.end() && to.make) {
      write(to.make(batch));
      continue;
    }
    if (array == batch.arrays.end()) {
      check(!to.required, "the model reads {}, which this data does not give: use data of the model's kind", to.array);
      continue;
    }
    write(array->second);
  }
}

}  // namespace megalith
