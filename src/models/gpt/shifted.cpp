#include "models/gpt/shifted.h"

namespace megalith {
namespace {

// The first position of each position's document; none: the sequence is one document.
const std::vector<i32>* starts_of(const Batch& batch) {
  return batch.arrays.contains("document_starts") ? &batch.ints("document_starts") : nullptr;
}

template <class T>
std::vector<T> shifted_values(const std::vector<T>& from, const std::vector<i32>* starts, i64 length, i64 by) {
  std::vector<T> out(from.size());
  for (i64 at = 0; at < i64(from.size()); ++at) {
    const size_t here = size_t(at), there = size_t(at + by);
    if (at % length + by < length && (!starts || (*starts)[here] == (*starts)[there])) out[here] = from[there];
  }
  return out;
}

}  // namespace

Batch::Array shifted(const Batch& batch, const std::string& name, i64 by) {
  const auto array = batch.arrays.find(name);
  check(array != batch.arrays.end(), "multi-token prediction reads {}, which this data does not give", name);
  return std::visit(
      [&](const auto& values) { return Batch::Array(shifted_values(values, starts_of(batch), batch.seq_length, by)); },
      array->second);
}

}  // namespace megalith
