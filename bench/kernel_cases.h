// The cases of kernel-bench.
#pragma once
#include <vector>

#include "ops/all.h"

namespace megalith::cuda {

struct Case {
  std::string name;
  AnyOp op;
  std::vector<Type> ins;
  bool in_place = false;    // results overwrite inputs if the op allows it
  i64 ids_below = 0;        // i32 inputs are random in [0, ids_below)
  int cp = 1;               // number of context-parallel ranks; each has the same work
  int rank = 0, parts = 1;  // index of the rank, and number of parts of its work
};

inline Type of(DType dtype, Shape shape) { return {dtype, shape, whole(int(shape.size()))}; }

std::vector<Case> attention_cases();
std::vector<Case> encoder_cases();           // BERT's attention, and T5's
std::vector<Case> context_parallel_cases();  // queries split over context-parallel ranks, keys and values gathered
std::vector<Case> quantize_cases();
std::vector<Case> ring_cases();  // one block of keys in a ring

}  // namespace megalith::cuda
