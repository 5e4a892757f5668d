#include "data/dataset.h"

namespace megalith {

std::vector<SampleArray> decoder_arrays(i64 seq_length, bool document_starts) {
  std::vector<SampleArray> out = {{"tokens", DType::i32, seq_length},
                                  {"labels", DType::i32, seq_length},
                                  {"loss_mask", DType::f32, seq_length},
                                  {"position_ids", DType::i32, seq_length}};
  if (document_starts) out.push_back({"document_starts", DType::i32, seq_length});
  return out;
}

Batch::Array empty_array(const SampleArray& array, i64 sequences) {
  const auto size = std::size_t(sequences * array.length);
  if (array.dtype == DType::f32) return std::vector<float>(size);
  check(array.dtype == DType::i32, "array {} of a dataset is {}: want i32 or f32", array.name, name_of(array.dtype));
  return std::vector<i32>(size);
}

}  // namespace megalith
